"""Targets and a plan become the cells of the report. Pure: what is known is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.model.recipe import Chip, Target
from qnnbuild.report.graph_cell import Graphs
from qnnbuild.report.searches import searches
from qnnbuild.report.standing import Failure, Known, Standing
from qnnbuild.report.told import Cell, GraphCell, KnownFailure, ModelTold, Row
from qnnbuild.steps.expected import expected_name
from qnnbuild.toolchains.work import Toolchain

MOST_REASONS = 4


@dataclass(frozen=True, kw_only=True)
class Cells:
    """All models of a plan. `chips` are the columns."""

    plan: Plan
    targets: Sequence[Target]
    toolchains: Mapping[str, Toolchain]
    chips: Sequence[Chip]
    known: Known

    def models(self) -> Iterator[ModelTold]:
        by_model: defaultdict[str, list[Target]] = defaultdict(list)
        for target in self.targets:
            by_model[target.model].append(target)
        for name in sorted(by_model):
            yield self._model(name, by_model[name])

    def _model(self, name: str, targets: Sequence[Target]) -> ModelTold:
        graphs = Graphs(plan=self.plan, known=self.known)
        failures: dict[str, Failure] = {}
        by_variant: defaultdict[str, list[Target]] = defaultdict(list)
        for target in targets:
            by_variant[target.variant].append(target)
        first = targets[0]
        rows = tuple(self._row(one, graphs, failures) for one in by_variant.values())
        return ModelTold(
            name=name,
            recipe=first.recipe,
            description=first.description,
            homepage=first.homepage,
            license=first.license.spdx,
            redistribute=first.license.redistribute,
            rows=rows,
            proofs=graphs.proofs,
            calibrations=graphs.calibrations,
            failures=failures,
            searches=tuple(searches(self.plan, self.plan.groups.get(name, ()), self.known)),
            times=self._times(name),
        )

    def _times(self, model: str) -> Mapping[str, float]:
        times: defaultdict[str, float] = defaultdict(float)
        for name in self.plan.groups.get(model, ()):
            record = self.known.standing(name).record
            if record is not None:
                times[self.plan[name].step] += record.seconds
        return {step: round(seconds, 3) for step, seconds in times.items()}

    def _row(self, targets: Sequence[Target], graphs: Graphs, failures: dict[str, Failure]) -> Row:
        wanted = {target.chip.name for target in targets}
        others = (chip for chip in self.chips if chip.name not in wanted)
        impossible = {chip.name: self._why_not(targets[0], chip) for chip in others}
        return Row(
            variant=targets[0].variant,
            cells=tuple(self._cell(target, graphs, failures) for target in targets),
            impossible={chip: why for chip, why in impossible.items() if why is not None},
        )

    def _why_not(self, target: Target, chip: Chip) -> str | None:
        """Why the chip could not be asked for, as far as the tools' rules say."""
        toolchain = self.toolchains.get(target.toolchain)
        for graph in target.graphs if toolchain is not None else ():
            for problem in toolchain.problems(graph, chip) if toolchain is not None else ():
                if problem.severity == "error":
                    return problem.message
        return None

    def _cell(self, target: Target, graphs: Graphs, failures: dict[str, Failure]) -> Cell:
        made = self._bundles.get((target.model, target.variant, target.chip.name))
        if made is None:
            return self._without_bundle(target, failures)
        standing = self.known.standing(made.name)
        failed, why = self._trouble([made], failures)
        record = standing.record
        tree = next(iter(record.outputs.values())) if record is not None else None
        state: Any = "built" if record is not None else "failed" if failed else "stale"
        return Cell(
            chip=target.chip.name,
            state=state,
            why=why,
            failures=failed,
            bundle=made.name,
            folder=made.lands,
            size=tree.size if tree is not None else None,
            key=standing.key,
            graphs=tuple(self._graphs(made, target, graphs)),
        )

    def _graphs(self, made: Action, target: Target, graphs: Graphs) -> Iterator[GraphCell]:
        said: Any = made.params["graphs"]
        chip = target.chip.name
        for stem, params in said.items():
            if params["variant"] != target.variant:
                continue
            own = f"verdict-{stem}-{chip}"  # where several chips have one binary
            verdict = made.inputs.get(own, made.inputs.get(f"verdict-{stem}"))
            yield graphs.cell(
                params["graph"],
                stem,
                params["precision"],
                self.plan[params["compiled"]],
                verdict=verdict.action if isinstance(verdict, OutputOf) else None,
                run_on=chip if own in made.inputs else params["run_on"],
                on_cpu=self._traced(made, stem),
            )

    def _traced(self, made: Action, stem: str) -> Sequence[Mapping[str, Any]] | None:
        """The CPU's nodes as the manifest has them, where an op trace knows more of them."""
        if f"trace-{stem}" not in made.inputs:
            return None
        manifest = self.known.read(made.name, "bundle", "manifest.json")
        return manifest["graphs"][stem]["on_cpu"] if manifest is not None else None

    def _without_bundle(self, target: Target, failures: dict[str, Failure]) -> Cell:
        """A graph of it is known to fail."""
        known, actions = [], []
        for graph in target.graphs:
            if graph.expect_failure is None:
                continue
            name = expected_name(target, graph)
            how = self.known.read(name, "failure", "failure.json") or {}
            actions.append(self.plan[name])
            known.append(
                KnownFailure(
                    graph=graph.name,
                    reason=graph.expect_failure.reason,
                    issue=graph.expect_failure.issue,
                    step=how.get("step"),
                    how=how.get("message"),
                )
            )
        failed, why = self._trouble(actions, failures)
        state: Any = "failed" if failed else "stale" if why else "known"
        return Cell(
            chip=target.chip.name, state=state, why=why, failures=failed, known=tuple(known)
        )

    def _trouble(
        self, actions: Sequence[Action], failures: dict[str, Failure]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What failed below `actions`, which is kept in `failures`, and why others are stale."""
        failed, why = [], []
        for name in dict.fromkeys(root for action in actions for root in self._roots[action.name]):
            standing = self.known.standing(name)
            if standing.failure is not None:
                failed.append(name)
                failures[name] = standing.failure
            else:
                why.append(f"{name}: {'; '.join(standing.why)}")
        more = len(why) - MOST_REASONS
        told = [*why[:MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]
        return tuple(failed), tuple(told)

    @cached_property
    def _roots(self) -> Mapping[str, tuple[str, ...]]:
        """For each action where a build of it would begin; nothing for what is current."""
        found: dict[str, tuple[str, ...]] = {}
        for action in self.plan:
            if self._standing(action.name).kind == "current":
                found[action.name] = ()
                continue
            below = dict.fromkeys(root for need in action.needs() for root in found[need])
            found[action.name] = tuple(below) or (action.name,)
        return found

    def _standing(self, name: str) -> Standing:
        return self.known.standing(name)

    @cached_property
    def _bundles(self) -> Mapping[tuple[str, str, str], Action]:
        return bundles_of(self.plan)


def bundles_of(plan: Plan) -> Mapping[tuple[str, str, str], Action]:
    """(model, variant, chip) → the action that makes its bundle."""
    found = {}
    for action in plan:
        if action.step == "bundle":
            said: Any = action.params
            for variant, chip in product(said["variants"], said["chips"]):
                found[said["model"], variant["name"], chip["name"]] = action
    return found
