"""Where results are shared between machines: `remote_cache:` of qnnbuild.yaml, environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from qnnbuild.errors import Problem, RecipeError, Span
from qnnbuild.text.nodes import Entry, MappingNode, Node, ScalarNode

SCHEMES = ("https", "http", "grpcs", "grpc", "s3", "gs", "az", "file")
URL = "QNNBUILD_REMOTE_CACHE"
MODE = "QNNBUILD_REMOTE_CACHE_MODE"
TOKEN = "QNNBUILD_REMOTE_CACHE_TOKEN"  # noqa: S105 - the variable's name
HEADER = "QNNBUILD_REMOTE_CACHE_HEADER"
TRUSTED_KEYS = "QNNBUILD_REMOTE_CACHE_TRUSTED_KEYS"
SIGNING_KEY = "QNNBUILD_REMOTE_CACHE_SIGNING_KEY"
SIGNING_PASSWORD = "QNNBUILD_REMOTE_CACHE_SIGNING_PASSWORD"  # noqa: S105 - the variable's name
READ, WRITE = "read", "read-write"
MODES = (READ, WRITE)


_COMMENT = re.compile(r"^untrusted comment:.*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class RemoteCache:
    """Holds no credentials, so that it may be shown and kept."""

    url: str
    mode: str = READ
    instance: str = ""
    timeout_s: float = 20.0
    trusted_keys: tuple[str, ...] = ()  # public keys, or files of them; none: all are believed

    @property
    def scheme(self) -> str:
        return urlsplit(self.url).scheme

    @property
    def writes(self) -> bool:
        return self.mode == WRITE


def remote_cache_of(given: Mapping[str, Any] | None) -> RemoteCache | None:
    """Out of what qnnbuild.yaml says, after it was checked."""
    if given is None:
        return None
    usual = RemoteCache(url="")
    return RemoteCache(
        url=given["url"].rstrip("/"),
        mode=given.get("mode", usual.mode),
        instance=given.get("instance", usual.instance),
        timeout_s=float(given.get("timeout", usual.timeout_s)),
        trusted_keys=tuple(given.get("trusted_keys", ())),
    )


def remote_cache_problems(node: MappingNode | None) -> Iterator[Problem]:
    url = node.get("url") if node is not None else None
    if isinstance(url, ScalarNode):
        yield from _problems(url.value, url.span)


def without_secrets(problems: Iterable[Problem], entry: Entry | None) -> list[Problem]:
    """The same problems; of what stands in `remote_cache:` neither a line nor a text is shown."""
    if entry is None:
        return list(problems)
    lines = {entry.key.span.line, *_lines(entry.value)}
    texts = {text for text in _texts(entry.value) if len(text) > LONGEST_WORD}
    return [_without(p, texts) if p.at and p.at.line in lines else p for p in problems]


def _without(problem: Problem, texts: AbstractSet[str]) -> Problem:
    shown = replace(problem, at=_hidden(problem.at))
    if any(text in problem.message + (problem.hint or "") for text in texts):
        message = problem.message.partition(", not ")[0]
        return replace(shown, message=message, hint="remote_cache: {url: …, mode: …}")
    return shown


def _lines(node: Node) -> Iterator[int]:
    yield node.span.line
    if isinstance(node, MappingNode):
        for entry in node.entries.values():
            yield entry.key.span.line
            yield from _lines(entry.value)


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node, ScalarNode):
        yield node.value
    elif isinstance(node, MappingNode):
        for _, value in node:
            yield from _texts(value)
    else:
        for value in node.items:
            yield from _texts(value)


ANYBODY = "anybody"
"""The word of the environment for: all results are believed."""

LONGEST_WORD = len("read-write")
"""What is longer than any word that may stand there could be an address or a token."""


def with_environment(
    settings: RemoteCache | None, environment: Mapping[str, str]
) -> RemoteCache | None:
    """The environment's word goes before the file's; an empty address means no remote cache."""
    url = environment.get(URL)
    if url is not None:
        url = url.strip().rstrip("/")
        for problem in _problems(url, None) if url else ():
            raise RecipeError.of([problem])
        # what the file says of another server is not meant for this one
        settings = _moved(settings, url) if url else None
    if settings is None:
        return None
    keys = environment.get(TRUSTED_KEYS, "").strip()
    if keys:  # CI sets variables that nobody gave a value: they must not undo the file's keys
        settings = replace(settings, trusted_keys=() if keys == ANYBODY else _keys(keys))
    mode = environment.get(MODE)
    if mode is None:
        return settings
    if mode not in MODES:
        raise RecipeError(f"{MODE} is '{mode}'", hint=f"it is one of {', '.join(MODES)}")
    return replace(settings, mode=mode)


def _moved(settings: RemoteCache | None, url: str) -> RemoteCache:
    """What is said of one server does not count for another; who is believed does, wherever."""
    if settings is not None and settings.url == url:
        return settings
    return RemoteCache(url=url, trusted_keys=settings.trusted_keys if settings else ())


def _keys(text: str) -> tuple[str, ...]:
    """Several stand as paths do in PATH; a comment of minisign's may hold the separator."""
    told = _COMMENT.sub("", text).split(os.pathsep)
    return tuple(key.strip() for key in told if key.strip())


def _problems(url: str, at: Span | None) -> Iterator[Problem]:
    """None of them shows the address, which may hold what nobody is to read."""
    name = "the address of the remote cache"
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        yield Problem(message=f"{name} cannot be read", at=_hidden(at))
        return
    if parts.scheme not in SCHEMES:
        hint = f"it begins with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}"
        yield Problem(message=f"{name} has no known scheme", at=_hidden(at), hint=hint)
    elif "@" in parts.netloc:
        hint = f"put a token into the environment as {TOKEN}, or user and password into netrc"
        yield Problem(message=f"{name} holds credentials", at=_hidden(at), hint=hint)
    elif parts.query or parts.fragment:
        hint = "leave out what follows ? or #; credentials come from the environment"
        yield Problem(message=f"{name} holds more than a place", at=_hidden(at), hint=hint)
    elif not port_is_fine or not (parts.netloc or (parts.scheme == "file" and parts.path)):
        yield Problem(message=f"{name} names no server", at=_hidden(at))


def _hidden(at: Span | None) -> Span | None:
    """The place without its line: that would show what is wrong with it."""
    return replace(at, text="") if at is not None else None
