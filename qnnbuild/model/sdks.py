"""Qualcomm's SDKs as a repo declares them: names and places as written, none of them looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from qnnbuild.errors import Problem, Span
from qnnbuild.model.nearest import nearest
from qnnbuild.model.sdk_systems import ANDROID, CROSS, SYSTEMS, declared_as
from qnnbuild.model.secret_names import is_secret
from qnnbuild.text.nodes import MappingNode, Node, ScalarNode

PREFIX = "qairt-"
"""How the name of each toolchain begins that is a version of the SDK."""

KEYS = ("root", "python", "ndk", "hexagon", "cross")
PYTHON = "python3.10"
"""The only Python that the SDK's converters load their libraries in, up to 2.48 at least."""

VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+){0,2}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
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
    # of each system: folders of a compiler for it, by the variables in which the SDK looks for them
    cross: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
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
        cross=_cross(given.get("cross")),
        span=at,
    )


def _cross(given: object) -> dict[str, Mapping[str, str]]:
    declared = given if isinstance(given, Mapping) else {}
    return {
        system: {str(name): str(path) for name, path in said.items()}
        if isinstance(said, Mapping)
        else {SYSTEMS[system].variables[0]: str(said)}
        for system, said in declared.items()
    }


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
        elif key == "cross" and isinstance(entry.value, MappingNode):
            yield from _cross_problems(entry.value)
        else:
            yield from _wrong_variables(entry.value)


def _cross_problems(declared: MappingNode) -> Iterator[Problem]:
    for name, entry in declared.entries.items():
        at, value = entry.key.span, entry.value
        if name not in CROSS:
            close = " or ".join(nearest(name, CROSS))
            yield Problem(
                message=f"no library is built for '{name}' by a compiler of your own",
                at=at,
                hint="ndk: the folder of an Android NDK"
                if name == ANDROID
                else f"did you mean {close}?"
                if close
                else f"there are {', '.join(CROSS)}",
            )
        elif isinstance(value, MappingNode):
            for variable, path in value.entries.items():
                if not VARIABLE_NAME.fullmatch(variable):
                    yield Problem(
                        message=f"'{variable}' is no name of an environment variable",
                        at=path.key.span,
                        hint=declared_as(SYSTEMS[name]),
                    )
                yield from _wrong_variables(path.value)
        elif len(SYSTEMS[name].variables) > 1:
            yield Problem(
                message=f"a compiler for {name} has more folders than one",
                at=at,
                hint=declared_as(SYSTEMS[name]),
            )
        else:
            yield from _wrong_variables(value)


def _wrong_variables(node: Node) -> Iterator[Problem]:
    if not isinstance(node, ScalarNode):
        return
    if LOOSE_DOLLAR.search(node.value):
        yield Problem(
            message=f"'{node.value}' has a $ that names no variable",
            at=node.span,
            hint="an environment variable is written ${NAME}",
        )
    for name in VARIABLE.findall(node.value):
        if is_secret(name):
            yield Problem(
                message=f"{name} is the name of a secret, and no part of a path",
                at=node.span,
                hint="write the path, or call its variable otherwise",
            )
