"""Targets become actions. What can be part of a plan stands in three tuples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.recipe import ExportSource, Graph, Source, Target
from qnnbuild.steps import prepare as prepare_step
from qnnbuild.steps.bundle import Part, bundle
from qnnbuild.steps.context import context
from qnnbuild.steps.convert import convert
from qnnbuild.steps.export import export, export_output, together
from qnnbuild.steps.fetch import LICENSE, MODEL, fetch
from qnnbuild.steps.prepare import prepare
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.work import Toolchain

STEPS = (fetch, export, prepare, convert, context, bundle)
CHECKS = (prepare_step.problems,)
TOOLCHAINS: tuple[Toolchain, ...] = (OrtQnn(),)


def problems_of(targets: Iterable[Target], toolchains: Mapping[str, Toolchain]) -> list[Problem]:
    """What cannot work on its chip with its tools; what is wrong for many chips is told once."""
    found: dict[Hashable, Problem] = {}
    for target in targets:
        toolchain = toolchains.get(target.toolchain)
        if toolchain is None:
            problem = _no_toolchain(target, toolchains)
            found.setdefault((problem.at, problem.message), problem)
            continue
        for graph in target.graphs:
            for problem in chain(
                *(check(graph) for check in CHECKS), toolchain.problems(graph, target.chip)
            ):
                # the same mistake for another chip is at the same place with the same hint
                found.setdefault((problem.at, problem.hint or problem.message), problem)
    return list(found.values())


def _no_toolchain(target: Target, toolchains: Mapping[str, Toolchain]) -> Problem:
    known = ", ".join(toolchains)
    return Problem(
        message=f"no toolchain is named '{target.toolchain}'",
        at=target.places.get("toolchain"),
        hint=did_you_mean(target.toolchain, toolchains, otherwise=f"toolchains here: {known}"),
    )


def plan_of(targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> Plan:
    """The actions for `targets`, each once. Pure: asks no disk, no clock, no tool."""
    by_model: defaultdict[str, list[Target]] = defaultdict(list)
    for target in targets:
        by_model[target.model].append(target)
    actions: list[Action] = []
    for several in by_model.values():
        actions += _ModelPlan(several, toolchains).actions()
    return Plan.of(actions)


@dataclass(frozen=True)
class _Use:
    """One graph of one target."""

    target: Target
    graph: Graph

    @property
    def base(self) -> str:
        variant = f"/{self.target.variant}" if self.target.variant else ""
        return f"{self.target.model}/{self.graph.name}{variant}"


class _ModelPlan:
    """The actions of one model. Chips share all before context unless `only:` divides them."""

    def __init__(self, targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> None:
        self.model = targets[0].model
        self.targets = targets
        self.toolchains = toolchains
        self.names = _Names()
        self.sources = self._sources()

    def actions(self) -> Iterator[Action]:
        for action, _ in self.sources.values():
            yield action
        for target in self.targets:
            parts = []
            for graph in target.graphs:
                prepared, converted, compiled = self._chain(_Use(target, graph))
                yield from (prepared, converted, compiled)
                parts.append(Part(graph=graph, prepared=prepared.name, compiled=compiled.name))
            yield self._bundle(target, parts)

    def _chain(self, use: _Use) -> tuple[Action, Action, Action]:
        """prepare, convert, context of one use."""
        toolchain = self.toolchains[use.target.toolchain]
        action, output = self.sources[use.graph.source]
        source = OutputOf(action=action.name, output=output)
        chip = use.target.chip.name
        prepared = self.names.shared(
            f"prepare/{use.base}",
            use,
            lambda name: prepare(use.target, use.graph, source, name),
        )
        converted = self.names.shared(
            f"convert/{use.base}+{use.graph.precision}",
            use,
            lambda name: convert(use.target, use.graph, toolchain, prepared.name, name=name),
        )
        compiled = context(
            use.target,
            use.graph,
            toolchain,
            prepared=prepared.name,
            converted=converted.name,
            name=f"context/{use.base}@{chip}",
        )
        return prepared, converted, compiled

    def _bundle(self, target: Target, parts: Sequence[Part]) -> Action:
        variant = f"/{target.variant}" if target.variant else ""
        return bundle(
            target,
            parts,
            license_text=self._licence(target),
            name=f"bundle/{target.model}{variant}@{target.chip.name}",
        )

    def _licence(self, target: Target) -> OutputOf | None:
        """The licence's text out of the source's package, where the recipe takes it from there."""
        for graph in target.graphs:
            action, _ = self.sources[graph.source]
            if LICENSE in action.outputs:
                return OutputOf(action=action.name, output=LICENSE)
        return None

    def _sources(self) -> dict[Source, tuple[Action, str]]:
        """source → the action that has its ONNX file, and which output."""
        uses = _uses(self.targets)
        exports = together(use[0].graph for use in uses.values())
        units: list[tuple[Source, ...]] = [
            (source,) for source in uses if not isinstance(source, ExportSource)
        ]
        units += [tuple(dict.fromkeys(g.source for g in graphs)) for graphs in exports]
        found: dict[Source, tuple[Action, str]] = {}
        for unit in units:
            name = _unit_name(unit, units, uses)
            first = uses[unit[0]][0]
            if isinstance(first.graph.source, ExportSource):
                graphs = [uses[source][0].graph for source in unit]
                action = self._export(first, graphs, name)
                for graph in graphs:
                    found[graph.source] = (action, export_output(graph, graphs))
            else:
                found[unit[0]] = (self._fetch(first, name), MODEL)
        return found

    def _export(self, use: _Use, graphs: Sequence[Graph], name: str) -> Action:
        return self.names.shared(
            f"export/{self.model}{name}",
            use,
            lambda n: export(graphs, name=n, group=self.model),
        )

    def _fetch(self, use: _Use, name: str) -> Action:
        source = use.graph.source
        assert not isinstance(source, ExportSource)
        return self.names.shared(
            f"fetch/{self.model}{name}",
            use,
            lambda n: fetch(
                source,
                name=n,
                group=self.model,
                places=use.graph.places,
                license_member=use.target.license.member,
            ),
        )


def _uses(targets: Sequence[Target]) -> dict[Source, list[_Use]]:
    uses: dict[Source, list[_Use]] = {}
    for target in targets:
        for graph in target.graphs:
            uses.setdefault(graph.source, []).append(_Use(target, graph))
    return uses


def _unit_name(
    unit: tuple[Source, ...],
    units: Sequence[tuple[Source, ...]],
    uses: Mapping[Source, Sequence[_Use]],
) -> str:
    """The shortest name for what one fetch or export brings: its graph, its variant, both, none."""
    if len(units) == 1:
        return ""
    ours = [use for source in unit for use in uses[source]]
    others = [use for u in units if u is not unit for source in u for use in uses[source]]
    graphs = {use.graph.name for use in ours}
    variants = {use.target.variant for use in ours}
    if len(graphs) == 1 and not any(use.graph.name in graphs for use in others):
        return f"/{ours[0].graph.name}"
    if len(variants) == 1 and not any(use.target.variant in variants for use in others):
        return f"/{ours[0].target.variant}"
    return ours[0].base.removeprefix(ours[0].target.model)


class _Names:
    """One name, one action. Chips that `only:` divides get names of their own behind a ~."""

    def __init__(self) -> None:
        self._known: defaultdict[str, list[Action]] = defaultdict(list)
        self._by_graph: dict[tuple[str, str, int], Action] = {}

    def shared(self, base: str, use: _Use, make: Callable[[str], Action]) -> Action:
        """The action called `base`, or `base~CHIP` when another chip's differs from it."""
        memo = (
            base,
            use.target.toolchain,
            id(use.graph),
        )  # chips that nothing divides share the very same graph
        if memo in self._by_graph:
            return self._by_graph[memo]
        action = make(base)
        known = self._known[base]
        for other in known:
            # where the user wrote something does not make it another action
            if replace(action, name=other.name, places=other.places) == other:
                self._by_graph[memo] = other
                return other
        if known:
            action = make(f"{base}~{use.target.chip.name}")
        known.append(action)
        self._by_graph[memo] = action
        return action
