"""Packages of operators of the user's own that an SDK builds: on the host, and for each device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.actions.action import Action
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.plans.names import Names, Use
from qnnbuild.steps.op_packages import op_package, skeleton
from qnnbuild.toolchains.own_packages import (
    HERE,
    Built,
    PackageBuilder,
    built_packages,
    place,
    targets_for,
)
from qnnbuild.toolchains.work import Toolchain


def op_package_problems(
    target: Target, graph: Graph, toolchains: Mapping[str, Toolchain]
) -> Iterator[Problem]:
    """Of the toolchain that is to build the sources, which may be another than the graph's."""
    for package in built_packages(graph, target.toolchain):
        first = next(one for one in graph.op_packages if one.op == package.ops[0])
        if (builder := _builder(toolchains, package)) is not None:
            yield from builder.building_problems(graph, package)
        elif first.built_with is not None:
            yield Problem(
                message=f"no SDK is declared as '{first.built_with}'",
                at=place(graph, first, "built_with"),
                hint=f"toolchains: {{{first.built_with}: {{root: …, ndk: …, hexagon: …}}}} in "
                "qnnbuild.yaml",
            )
        if target.group:
            yield Problem(
                message=f"a binary for several chips has one library of '{first.op}' for all, and "
                "sources are built for each generation",
                at=place(graph, first, "sources"),
                hint="library: and on_device:, or leave multi_soc: out",
            )


def built_here(
    names: Names, use: Use, toolchains: Mapping[str, Toolchain]
) -> Iterator[tuple[Built, Sequence[Action]]]:
    """Each package with the actions that build it for this host, its library's last."""
    for package in built_packages(use.graph, use.target.toolchain):
        yield package, tuple(_built(names, use, toolchains, package, HERE))


def built_for_device(
    names: Names, use: Use, toolchains: Mapping[str, Toolchain]
) -> Iterator[Action]:
    """The libraries that ship for the chip of `use`."""
    for package in built_packages(use.graph, use.target.toolchain):
        for wanted in targets_for(use.target.chip.arch):
            *_, action = _built(names, use, toolchains, package, wanted)
            yield action


def _built(
    names: Names, use: Use, toolchains: Mapping[str, Toolchain], package: Built, wanted: str
) -> Iterator[Action]:
    builder = _builder(toolchains, package)
    assert builder is not None  # op_package_problems has told of it
    made_of = names.shared(
        f"skeleton/{use.base}/{package.stem}",
        use,
        lambda name: skeleton(use.target, use.graph, builder.skeleton(package), package, name),
    )
    yield made_of
    yield names.shared(
        f"op-package/{use.base}/{package.stem}/{wanted}",
        use,
        lambda name: op_package(
            use.target,
            use.graph,
            builder.built(package, wanted),
            package,
            made_of=made_of.name,
            name=name,
        ),
    )


def _builder(toolchains: Mapping[str, Toolchain], package: Built) -> PackageBuilder | None:
    found: object = toolchains.get(package.toolchain)
    return found if isinstance(found, PackageBuilder) else None
