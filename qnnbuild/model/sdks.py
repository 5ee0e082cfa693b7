"""Qualcomm's SDKs as a repo declares them: names and places as written, none of them looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from qnnbuild.errors import Problem, Span
from qnnbuild.text.nodes import MappingNode, ScalarNode

PREFIX = "qairt-"
"""How the name of each toolchain begins that is a version of the SDK."""

KEYS = ("root", "python", "ndk", "hexagon")
PYTHON = "python3.10"
"""The only Python that the SDK's converters load their libraries in, up to 2.48 at least."""

VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+){0,2}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
LOOSE_DOLLAR = re.compile(r"\$(?!\{[A-Za-z_][A-Za-z0-9_]*\})")

PUBLISHED = {"x86_64-linux-clang": "linux-x64", "aarch64-android": "android-aarch64"}
"""The SDK's names of systems → what archives of libraries are known by."""


@dataclass(frozen=True, kw_only=True)
class Sdk:
    """One version of the SDK. What is a path may hold ${VARIABLE}s and begin with ~."""

    name: str
    root: str  # relative to the repo's root, or absolute; so are the others
    python: str = PYTHON  # a bare name is looked for on PATH
    ndk: str | None = None  # an Android NDK: what libraries for aarch64-android are built with
    hexagon: str | None = None  # the Hexagon SDK: what operators of one's own are built with
    span: Span | None = field(default=None, compare=False)

    @property
    def version(self) -> str:
        """As far as the name tells: 2.40, or 2.40.0.251030."""
        return self.name.removeprefix(PREFIX)

    @property
    def variable(self) -> str:
        """Tells an action where it is. A shell drops names that have . or - in them."""
        return variable_of(self.name)


def variable_of(name: str) -> str:
    return f"QNNBUILD_SDK_{name.removeprefix(PREFIX).replace('.', '_')}"


def is_sdk(name: str) -> bool:
    return name.startswith(PREFIX)


def published(system: str) -> str:
    """One that nobody publishes for keeps the SDK's name."""
    return PUBLISHED.get(system, system)


def sdk_of(name: str, given: Mapping[str, object], at: Span | None) -> Sdk:
    """Of a declaration without problems."""
    ndk, hexagon = given.get("ndk"), given.get("hexagon")
    return Sdk(
        name=name,
        root=str(given["root"]),
        python=str(given.get("python", PYTHON)),
        ndk=None if ndk is None else str(ndk),
        hexagon=None if hexagon is None else str(hexagon),
        span=at,
    )


def sdk_problems(name: str, at: Span, node: MappingNode) -> Iterator[Problem]:
    """What is wrong with a toolchain that is called like a version of the SDK."""
    if not VERSION.fullmatch(name.removeprefix(PREFIX)):
        yield Problem(
            message=f"'{name}' names no version of the SDK",
            at=at,
            hint=f"{PREFIX}2.40, or all that the SDK's folder is called: {PREFIX}2.40.0.251030",
        )
    if "root" not in node.entries:
        yield Problem(
            message=f"'root' is missing from '{name}'",
            at=at,
            hint="root: the SDK's folder, which has sdk.yaml in it; ${NAME} takes an environment "
            "variable",
        )
    for key, entry in node.entries.items():
        if key not in KEYS:
            yield Problem(
                message=f"unknown key '{key}'",
                at=entry.key.span,
                hint=f"of an SDK there are {', '.join(KEYS)}",
            )
        elif isinstance(entry.value, ScalarNode) and LOOSE_DOLLAR.search(entry.value.value):
            yield Problem(
                message=f"'{entry.value.value}' has a $ that names no variable",
                at=entry.value.span,
                hint="an environment variable is written ${NAME}",
            )
