"""Packages of operators of the user's own that an SDK builds: on the host, and for each device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.model.sdks import is_sdk
from qnnbuild.plans.names import Names, Use
from qnnbuild.steps.op_packages import op_package, skeleton
from qnnbuild.toolchains.own_packages import (
    CONVERTS,
    HERE,
    MEASURES,
    Built,
    PackageBuilder,
    built_packages,
    measuring_packages,
    place,
    targets_for,
)
from qnnbuild.toolchains.qairt_op_packages import (
    converter_input,
    converter_libraries,
    measuring_input,
    measuring_libraries,
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


class Told:
    """What an SDK's converter and quantizer take of operators of the user's own, as inputs."""

    def __init__(self, names: Names, use: Use, toolchains: Mapping[str, Toolchain]) -> None:
        self.before: list[Action] = []  # what builds some of it
        self.converting: dict[str, Input] = {}
        self.measuring: dict[str, Input] = {}
        graph, own = use.graph, use.target.toolchain
        if not is_sdk(own) or not graph.op_packages:
            return
        definitions = tuple(dict.fromkeys(p.xml for p in graph.op_packages if p.xml))
        for name, files, into in (
            ("definitions", definitions, self.converting),
            ("converter", converter_libraries(graph), self.converting),
            ("measuring", measuring_libraries(graph), self.measuring),
        ):
            if files:
                into[name] = SourceFiles(patterns=files)
        for package in built_packages(graph, own):
            if package.converter:
                actions = list(_built(names, use, toolchains, package, CONVERTS))
                self.converting[converter_input(package)] = self._library(actions)
        for package in measuring_packages(graph, own) if graph.calibration is not None else ():
            actions = list(_built(names, use, toolchains, package, MEASURES))
            self.measuring[measuring_input(package)] = self._library(actions)

    @property
    def all(self) -> dict[str, Input]:
        """For a converter that measures itself."""
        return {**self.converting, **self.measuring}

    def _library(self, actions: Sequence[Action]) -> OutputOf:
        self.before += actions
        return OutputOf(action=actions[-1].name, output="library")


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
            wanted,
            made_of=made_of.name,
            name=name,
        ),
    )


def _builder(toolchains: Mapping[str, Toolchain], package: Built) -> PackageBuilder | None:
    found: object = toolchains.get(package.toolchain)
    return found if isinstance(found, PackageBuilder) else None
