"""Where actions run when not on this machine: `executor:` of qnnbuild.yaml, environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from qnnbuild.errors import Problem, RecipeError, Span
from qnnbuild.text.nodes import MappingNode, Node, ScalarNode

VARIABLE = "QNNBUILD_EXECUTOR"
PROTOCOLS = {"dask": "tcp", "dasks": "tls"}
"""The scheme of an address → what Dask itself calls it."""

LOCAL = "local"
EXAMPLE = "write dask://HOST:8786, dasks://HOST:8786 with TLS, or dask:///FOLDER/scheduler.json"


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Dask scheduler, by address or by the file that it wrote."""

    url: str
    wait_s: float = 60.0  # for a worker that could take an action, before that is an error
    falls_back: bool = False  # to this machine, where the scheduler cannot be reached
    span: Span | None = field(default=None, compare=False)

    @property
    def address(self) -> str:
        """As Dask writes it: tcp://host:8786. Without a host where a file tells it."""
        parts = urlsplit(self.url)
        return f"{PROTOCOLS[parts.scheme]}://{parts.netloc}"

    @property
    def scheduler_file(self) -> str | None:
        parts = urlsplit(self.url)
        return None if parts.netloc else parts.path


def cluster_of(given: str | Mapping[str, Any] | None, at: Span | None) -> Cluster | None:
    """Out of what qnnbuild.yaml says, after it was checked."""
    if given is None:
        return None
    told: Mapping[str, Any] = {"url": given} if isinstance(given, str) else given
    return Cluster(
        url=told["url"],
        wait_s=float(told.get("wait", Cluster.wait_s)),
        falls_back=told.get("fallback") == LOCAL,
        span=at,
    )


def cluster_problems(node: Node | None) -> Iterator[Problem]:
    url = node.get("url") if isinstance(node, MappingNode) else node
    if isinstance(url, ScalarNode) and not url.empty:
        yield from _problems(url.value, url.span)


def with_environment(settings: Cluster | None, environment: Mapping[str, str]) -> Cluster | None:
    """The environment's address goes before the file's; an empty one means this machine."""
    url = environment.get(VARIABLE)
    if url is None:
        return settings
    url = url.strip()
    if not url:
        return None
    for problem in _problems(url, None):
        raise RecipeError.of([replace(problem, facts=((VARIABLE, url),))])
    return replace(settings or Cluster(url=url), url=url, span=None)


def _problems(url: str, at: Span | None) -> Iterator[Problem]:
    name = "the address of the executor"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        yield Problem(message=f"{name} has no port that can be", at=at, hint=EXAMPLE)
        return
    if parts.scheme not in PROTOCOLS:
        yield Problem(message=f"{name} begins with no dask://", at=at, hint=EXAMPLE)
    elif "@" in parts.netloc or parts.query or parts.fragment:
        hint = "keys and certificates are Dask's own settings: see distributed.comm.tls"
        yield Problem(message=f"{name} holds more than a place", at=at, hint=hint)
    elif parts.netloc and (not parts.hostname or port is None or parts.path not in ("", "/")):
        yield Problem(message=f"{name} is no host with a port", at=at, hint=EXAMPLE)
    elif not parts.netloc and not parts.path.endswith(".json"):
        yield Problem(message=f"{name} names neither a host nor a file", at=at, hint=EXAMPLE)
