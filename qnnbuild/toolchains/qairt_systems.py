"""Which systems a graph gets libraries for, and what is missing for one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph
from qnnbuild.model.sdk_systems import ANDROID, HOST, SYSTEMS, System, declared_as
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.qairt_options import LIBRARY, given
from qnnbuild.toolchains.qairt_routes import CPP, route_of

PLACE = "options.qairt.library.targets"


def systems_of(graph: Graph) -> tuple[System, ...]:
    """The host comes first: the compile for a chip loads its library. None of a DLC."""
    if route_of(graph) != CPP:
        return ()
    asked = given(graph, LIBRARY).get("targets", ())
    known = [name for name in asked if name in SYSTEMS] if isinstance(asked, list) else []
    return tuple(SYSTEMS[name] for name in dict.fromkeys((HOST, *known)))


def system_problems(graph: Graph, sdk: Sdk) -> Iterator[Problem]:
    """Of systems that the SDK builds for, if it has what it needs for them."""
    at = graph.places.get(PLACE)
    for system in systems_of(graph):
        if system.on_windows:
            yield Problem(
                message=f"a library for {system.name} is built on Windows, by the SDK's own tools "
                "for it",
                at=at,
                hint=f"leave it out; on Windows: qnn-model-lib-generator -t {system.name}",
            )
        elif system.name == ANDROID and sdk.ndk is None:
            yield Problem(
                message=f"a library for {ANDROID} needs an NDK, and {sdk.name} declares none",
                at=at,
                hint=f"ndk: in qnnbuild.yaml, under toolchains: {sdk.name}:",
            )
        elif system.is_cross and system.name not in sdk.cross:
            yield Problem(
                message=f"a library for {system.name} needs a compiler for it, and {sdk.name} "
                "declares none",
                at=at,
                hint=f"cross: {{{declared_as(system)}}} in qnnbuild.yaml, under toolchains: "
                f"{sdk.name}:",
            )
        elif system.is_cross:
            yield from _incomplete(system, sdk)


def _incomplete(system: System, sdk: Sdk) -> Iterator[Problem]:
    """The SDK's own names of variables are usual; whoever says others has a reason for it."""
    said = sdk.cross[system.name]
    missing = [name for name in system.variables if name not in said]
    if missing and any(name in said for name in system.variables):
        yield Problem(
            message=f"{', '.join(missing)} is missing from the compiler for {system.name}",
            at=sdk.span,
            hint=f"cross: {{{declared_as(system)}}}",
        )
