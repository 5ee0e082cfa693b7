"""Operators of the user's own.

packages checks their libraries before anything loads them; where a recipe has sources, skeleton and
op-package build them first.
"""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, OutputOf, SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.steps.doing import doing
from qnnbuild.toolchains.own_packages import CONVERTS, Built
from qnnbuild.toolchains.work import Toolchain, Work


def packages(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    name: str,
    built: Mapping[str, str] | None = None,
) -> Action:
    """Outputs "here" (what compiles), "device" (what ships), "operators" (what the XML says).

    `built`: input → the action that builds its library.
    """
    work = toolchain.packages(graph)
    files = [
        file
        for package in graph.op_packages
        for file in (package.library, package.xml, *package.on_device.values())
        if file is not None
    ]
    return doing(
        work,
        target,
        graph,
        name=name,
        step="packages",
        inputs={
            "files": SourceFiles(patterns=tuple(dict.fromkeys(files))),
            **{
                name: OutputOf(action=action, output="library")
                for name, action in (built or {}).items()
            },
        },
        places=_places(graph),
        about=f"operators of one's own in {graph.name}",
    )


def skeleton(target: Target, graph: Graph, work: Work, package: Built, name: str) -> Action:
    """What the SDK makes of the definition, and the user's sources are put into."""
    return doing(
        work,
        target,
        graph,
        name=name,
        step="skeleton",
        inputs={"xml": SourceFiles(patterns=(package.xml,))},
        places={**_places(graph), **_said(graph, package, "xml")},
        about=f"skeleton of {package.stem}",
    )


def op_package(
    target: Target,
    graph: Graph,
    work: Work,
    package: Built,
    wanted: str,
    *,
    made_of: str,
    name: str,
) -> Action:
    """What make calls `wanted`; `made_of` is the action that has the package's skeleton."""
    return doing(
        work,
        target,
        graph,
        name=name,
        step="op-package",
        inputs={
            "skeleton": OutputOf(action=made_of, output="skeleton"),
            "sources": SourceFiles(patterns=_sources(package, wanted)),
        },
        places={**_places(graph), **_said(graph, package, "sources")},
        about=f"{package.stem} by make {wanted}",
    )


def _sources(package: Built, wanted: str) -> tuple[str, ...]:
    if wanted == CONVERTS and package.converter is not None:
        return (package.converter,)
    return package.sources


def _said(graph: Graph, package: Built, key: str) -> dict[str, Span]:
    """An input is called like the key that names it."""
    at = graph.places.get(f"{package.at}.{key}")
    return {} if at is None else {key: at}


def _places(graph: Graph) -> Mapping[str, Span]:
    at = graph.places.get("op_packages")
    return {**graph.places, "files": at} if at is not None else graph.places
