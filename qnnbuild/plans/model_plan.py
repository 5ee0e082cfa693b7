"""The actions of one model."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from qnnbuild.actions.action import Action, Input, OutputOf
from qnnbuild.model.recipe import Chip, ExportSource, Graph, Source, Target
from qnnbuild.plans.archived import Archived
from qnnbuild.plans.contexts import Chain, Link, Wrapped, chains_of, fails, shipped_together
from qnnbuild.plans.dlcs import floats_of, lowered_of
from qnnbuild.plans.multi import MultiGraph, MultiGroup, multi_groups
from qnnbuild.plans.names import Names, Use, source_of, unit_name, uses_of
from qnnbuild.plans.op_packages import Told, built_for_device, built_here
from qnnbuild.plans.proof import Proof, verdict_name
from qnnbuild.plans.samples import shown_samples
from qnnbuild.plans.search import Search
from qnnbuild.steps.bundle import Part, bundle
from qnnbuild.steps.convert import convert
from qnnbuild.steps.dump import dump, kinds, name_of, traced_by
from qnnbuild.steps.export import export, export_output, together
from qnnbuild.steps.fetch import LICENSE, MODEL, fetch
from qnnbuild.steps.library import library
from qnnbuild.steps.op_packages import packages
from qnnbuild.steps.prepare import prepare
from qnnbuild.steps.samples import calibrate, feeds
from qnnbuild.steps.wrap import original_of, wrap
from qnnbuild.toolchains.work import Toolchain, Work


class ModelPlan:
    """The actions of one model. Chips share all before context unless `only:` divides them."""

    def __init__(self, targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> None:
        self.model = targets[0].model
        self.targets = _searchable(targets, toolchains)
        self.toolchains = toolchains
        self.names = Names()
        self.before_convert: list[Action] = []
        self.held: list[Graph] = []  # so that no id is used again: names are known by them
        self.sources = self._sources()
        self.archived = Archived(toolchains)

    def actions(self) -> Iterator[Action]:
        for action in list(self._all()):
            yield self.names.settled(action)

    def _all(self) -> Iterator[Action]:
        for action, _ in self.sources.values():
            yield action
        links = [self._link(Use(t, graph)) for t in self.targets for graph in t.graphs]
        chains = chains_of(links, self.toolchains)
        yield from self.before_convert
        groups = [*multi_groups(chains, self.toolchains)]
        together = [target for group in groups for target in group.targets]
        proof = Proof(chains, self.names, self.toolchains, together)
        apart = {id(target) for target in together}
        for ours in shipped_together([c for c in chains if id(c.use.target) not in apart]):
            yield from self._shipped(ours, proof)
        for group in groups:
            yield from self._shipped_for_chips(group, proof)
        yield from self.archived.libraries(chains, self._licence)

    def _shipped(self, chains: Sequence[Chain], proof: Proof) -> Iterator[Action]:
        """What the chains of one folder need, and its bundle."""
        yield from self._proved(chains, proof)
        ours = [chain for chain in chains if not fails(chain.use.target)]
        if ours:
            targets = list({id(c.use.target): c.use.target for c in ours}.values())
            toolchain = self.toolchains[targets[0].toolchain]
            parts = [_part(chain, proof.run_for(chain), toolchain) for chain in ours]
            for chain in ours:
                yield from chain.on_device
            yield from self._bundle(targets, parts)

    def _shipped_for_chips(self, group: MultiGroup, proof: Proof) -> Iterator[Action]:
        """The same where several chips have one binary for each graph."""
        yield from self._proved([c for graph in group.graphs for c in graph.chains], proof)
        yield from (graph.compiled for graph in group.graphs)
        toolchain = self.toolchains[group.targets[0].toolchain]
        parts = [_part_of_several(graph, proof, toolchain) for graph in group.graphs]
        yield from self._bundle(group.targets, parts, chips=group.name)

    def _proved(self, chains: Sequence[Chain], proof: Proof) -> Iterator[Action]:
        """What compiles the chains, and what runs and judges them."""
        for chain in chains:
            toolchain = self.toolchains[chain.use.target.toolchain]
            before = (chain.packages, chain.prepared, chain.unquantized, chain.converted)
            yield from filter(None, (*before, chain.lowered, *chain.libraries))
            if chain.use.graph.expect_failure is not None:
                yield from proof.expected(chain, toolchain)
            if fails(chain.use.target):
                continue
            yield chain.compiled
            yield from self._dumps(chain, toolchain)
            if proof.run_for(chain) is chain:
                yield from proof.actions(chain, toolchain)
            yield from proof.on_device(chain, toolchain)

    def _dumps(self, chain: Chain, toolchain: Toolchain) -> Iterator[Action]:
        """Those that the recipe lists, and the op trace that tells what the CPU runs."""
        use = chain.use
        for kind in kinds(use.graph, use.target.chip, toolchain):
            yield dump(
                use.target,
                use.graph,
                toolchain,
                kind,
                prepared=chain.prepared.name,
                converted=chain.converted.name,
                compiled=chain.compiled.name,
                packages=chain.packages.name if chain.packages else None,
                name=name_of(use.base, kind, use.target.chip.name),
            )

    def _link(self, use: Use) -> Link:
        """prepare and convert of one use, and what calibrates it."""
        action, output = self.sources[use.graph.source]
        source = OutputOf(action=action.name, output=output)
        if use.graph.wrapped or use.graph.genie:
            return self._wrapped(use, source)
        own = self._packages(use)
        prepared = self.names.shared(
            f"prepare/{use.base}",
            use,
            lambda name: prepare(use.target, use.graph, source, name, own.name if own else None),
        )
        calibrated = self._calibrated(use, prepared)
        toolchain = self.toolchains[use.target.toolchain]
        told = Told(self.names, use, self.toolchains)
        self.before_convert += told.before
        floats = floats_of(self.names, use, toolchain, prepared, told.converting)
        converted = self._converted(
            use, prepared, calibrated, floats, told.all if floats is None else told.measuring
        )
        return Link(
            use=use,
            prepared=prepared,
            converted=converted,
            packages=own,
            libraries=tuple(self._libraries(use, converted)),
            unquantized=floats,
            lowered=lowered_of(self.names, use, toolchain, converted),
            on_device=tuple(built_for_device(self.names, use, self.toolchains)),
        )

    def _libraries(self, use: Use, converted: Action) -> Iterator[Action]:
        """Where the toolchain compiles code: one for each system."""
        works = self.toolchains[use.target.toolchain].libraries(use.graph)
        for system, work in works.items():

            def made(name: str, system: str = system, work: Work = work) -> Action:
                return library(
                    use.target, use.graph, work, system, converted=converted.name, name=name
                )

            yield self.names.shared(f"library/{use.base}/{system}", use, made)

    def _packages(self, use: Use) -> Action | None:
        """Checks the libraries of operators of the user's own."""
        if not use.graph.op_packages:
            return None
        toolchain = self.toolchains[use.target.toolchain]
        built = {}
        for package, actions in built_here(self.names, use, self.toolchains):
            self.before_convert += actions
            built[package.input] = actions[-1].name
        return self.names.shared(
            f"packages/{use.base}",
            use,
            lambda name: packages(use.target, use.graph, toolchain, name, built),
        )

    def _wrapped(self, use: Use, source: OutputOf) -> Link:
        """The same of what was made elsewhere."""
        original = self._original(use)
        action = self.names.shared(
            f"wrap/{use.base}",
            use,
            lambda name: wrap(use.target, use.graph, source, original=original, name=name),
        )
        return Wrapped(use=use, prepared=action, converted=action)

    def _original(self, use: Use) -> OutputOf | None:
        """The ONNX file of a compiled graph; other graphs may have it as their source."""
        source = use.graph.wrapped.original if use.graph.wrapped else None
        if source is None:
            return None
        if source not in self.sources:
            graph = original_of(use.graph, source)
            self.held.append(graph)
            mine, name = Use(use.target, graph), f"{use.base.removeprefix(self.model)}/original"
            if isinstance(source, ExportSource):
                action, output = self._export(mine, [graph], name), export_output(graph, [graph])
            else:
                action, output = self._fetch(mine, name, graph.deadline_s), MODEL
            self.sources[source] = (action, output)
            self.before_convert.append(action)
        action, output = self.sources[source]
        return OutputOf(action=action.name, output=output)

    def _converted(
        self,
        use: Use,
        prepared: Action,
        calibrated: str | None,
        floats: Action | None,
        own: Mapping[str, Input],
    ) -> Action:
        toolchain = self.toolchains[use.target.toolchain]
        if use.graph.auto_from and calibrated is not None:
            shown = list(shown_samples(self.names, use, prepared))
            self.before_convert += shown
            search = Search(
                use=use,
                names=self.names,
                toolchain=toolchain,
                prepared=prepared.name,
                calibrated=calibrated,
                shown=shown[-1].name,
                chip=self._judging(use),
            )
            found = search.converted()
            self.before_convert += search.actions
            return found

        def made(name: str) -> Action:
            return convert(
                use.target,
                use.graph,
                toolchain,
                prepared.name,
                calibrated=calibrated,
                unquantized=floats.name if floats is not None else None,
                own=own,
                name=name,
            )

        return self.names.shared(f"convert/{use.base}+{use.graph.precision}", use, made)

    def _judging(self, use: Use) -> Chip:
        """One chip for all that search the same: one that is known to work, where there is one."""
        same = [
            (graph, target.chip)
            for target in self.targets
            for graph in target.graphs
            if Use(target, graph).base == use.base and graph.precision == use.graph.precision
        ]
        working = [chip for graph, chip in same if graph.expect_failure is None]
        return working[0] if working else same[0][1]

    def _calibrated(self, use: Use, prepared: Action) -> str | None:
        """The action whose feeds quantizing measures; None where nothing is measured."""
        given = use.graph.calibration
        if given is None:
            return None
        fed = None
        if given.python is not None:
            fed = self.names.shared(
                f"feeds/{use.base}/calibration",
                use,
                lambda name: feeds(use.target, use.graph, given, name),
            )
            self.before_convert.append(fed)
        action = self.names.shared(
            f"calibrate/{use.base}",
            use,
            lambda name: calibrate(
                use.target,
                use.graph,
                prepared=prepared.name,
                feeds=fed.name if fed else None,
                source=source_of(prepared),
                name=name,
            ),
        )
        self.before_convert.append(action)
        return action.name

    def _bundle(
        self, targets: Sequence[Target], parts: Sequence[Part], chips: str = ""
    ) -> Iterator[Action]:
        """What users download, as a folder and as a single file."""
        new, runs_with = self.archived.runtimes(targets, prepares=False)
        yield from new
        made = bundle(
            targets,
            parts,
            license_text=self._licence(targets[0]),
            runs_with=runs_with,
            chips=chips,
        )
        yield made
        yield from self.archived.contexts(targets, made, chips)

    def _licence(self, target: Target) -> OutputOf | None:
        """The licence's text out of the source's package, where the recipe takes it from there."""
        for graph in target.graphs:
            action, _ = self.sources[graph.source]
            if LICENSE in action.outputs:
                return OutputOf(action=action.name, output=LICENSE)
        return None

    def _sources(self) -> dict[Source, tuple[Action, str]]:
        """source → the action that has its ONNX file, and which output."""
        uses = uses_of(self.targets)
        exports = together(use[0].graph for use in uses.values())
        units: list[tuple[Source, ...]] = [
            (source,) for source in uses if not isinstance(source, ExportSource)
        ]
        units += [tuple(dict.fromkeys(g.source for g in graphs)) for graphs in exports]
        found: dict[Source, tuple[Action, str]] = {}
        for unit in units:
            name = unit_name(unit, units, uses)
            first = uses[unit[0]][0]
            if isinstance(first.graph.source, ExportSource):
                graphs = [uses[source][0].graph for source in unit]
                action = self._export(first, graphs, name)
                for graph in graphs:
                    found[graph.source] = (action, export_output(graph, graphs))
            else:
                longest = max(use.graph.deadline_s for use in uses[unit[0]])
                found[unit[0]] = (self._fetch(first, name, longest), MODEL)
        return found

    def _export(self, use: Use, graphs: Sequence[Graph], name: str) -> Action:
        return self.names.shared(
            f"export/{self.model}{name}",
            use,
            lambda n: export(graphs, name=n, group=self.model),
        )

    def _fetch(self, use: Use, name: str, deadline_s: float) -> Action:
        source = use.graph.source
        assert not isinstance(source, ExportSource)
        return self.names.shared(
            f"fetch/{self.model}{name}",
            use,
            lambda n: fetch(
                source,
                name=n,
                group=self.model,
                places={**use.target.places, **use.graph.places},
                license_member=use.target.license.member,
                deadline_s=deadline_s,
                made=use.graph.precision if use.graph.wrapped or use.graph.genie else None,
            ),
        )


def _searchable(targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> Sequence[Target]:
    """With `precision: auto` each chip searches among what it can do; chips alike share graphs."""
    known: dict[Hashable, Graph] = {}

    def able(target: Target, graph: Graph) -> Graph:
        if not graph.auto_from:
            return graph
        one = toolchains[target.toolchain].searchable(graph, target.chip)
        return known.setdefault((id(graph), target.toolchain, one.auto_from), one)

    return [
        replace(target, graphs=tuple(able(target, graph) for graph in target.graphs))
        if any(graph.auto_from for graph in target.graphs)
        else target
        for target in targets
    ]


def _part(chain: Chain, run: Chain | None, toolchain: Toolchain) -> Part:
    use = chain.use
    return Part(
        graph=chain.use.graph,
        own_libraries=chain.own_libraries,
        variant=chain.use.target.variant,
        stem=chain.stem,
        prepared=chain.prepared.name,
        source=source_of(chain.prepared),
        converted=chain.converted.name,
        compiled=chain.compiled.name,
        verdict=verdict_name(run) if run else None,
        run_on=run.use.target.chip.name if run else None,
        run_alone=chain.is_run_alone,
        traced=traced_by(use.base, use.graph, use.target.chip, toolchain),
    )


def _part_of_several(graph: MultiGraph, proof: Proof, toolchain: Toolchain) -> Part:
    """One binary for several chips, judged by each chip's single one."""
    runs = [(chain.use.target.chip.name, proof.run_for(chain)) for chain in graph.chains]
    return replace(
        _part(graph.chains[0], None, toolchain),
        compiled=graph.compiled.name,
        singles={chip: verdict_name(run) for chip, run in runs if run is not None},
    )
