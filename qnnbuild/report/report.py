"""All that is known of a repo's builds, as one report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.actions.plan import Plan
from qnnbuild.digest import digest_bytes
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Chip, Target
from qnnbuild.report.came import came
from qnnbuild.report.cells import Cells
from qnnbuild.report.standing import Known
from qnnbuild.report.told import REPORT_VERSION, ChipTold, Report, Wrong
from qnnbuild.toolchains.work import Toolchain


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a report is about: what the recipes say. `unseen` models were not looked at."""

    plan: Plan
    targets: Sequence[Target]
    toolchains: Mapping[str, Toolchain]
    problems: Sequence[Problem] = ()
    unseen: frozenset[str] = field(default_factory=frozenset)


def report(subject: Subject, known: Known) -> Report:
    chips = sorted(
        {target.chip.name: target.chip for target in subject.targets}.values(),
        key=lambda chip: (chip.arch, chip.name),
    )
    cells = Cells(
        plan=subject.plan,
        targets=subject.targets,
        toolchains=subject.toolchains,
        chips=chips,
        known=known,
    )
    run = known.last_run()
    records = (known.standing(action.name).record for action in subject.plan)
    return Report(
        of=digest_of(subject, known),
        made=max((record.made for record in records if record is not None), default=""),
        chips=tuple(map(_chip, chips)),
        models=tuple(cells.models()),
        wrong=tuple(_wrong(p) for p in subject.problems if p.severity == "error"),
        run=came(subject.plan, run) if run is not None else None,
    )


def digest_of(subject: Subject, known: Known) -> str:
    """Of all that a report would tell of; asks no more than how it stands with each action."""
    told = [str(REPORT_VERSION), *sorted(subject.unseen)]
    for action in subject.plan:
        standing = known.standing(action.name)
        failure = standing.failure.message if standing.failure is not None else ""
        told += (action.name, standing.kind, standing.key or "", failure, *standing.why)
    run = known.last_run()
    told += [run.began if run is not None else "", str(run.seconds if run is not None else 0)]
    told += [f"{problem.message} {problem.at}" for problem in subject.problems]
    told += [
        f"{target.model} {graph.name} {graph.expect_failure}"
        for target in subject.targets
        for graph in target.graphs
        if graph.expect_failure is not None
    ]
    return digest_bytes("\0".join(told).encode())


def _chip(chip: Chip) -> ChipTold:
    return ChipTold(
        name=chip.name,
        marketing=chip.marketing,
        arch=chip.arch,
        vtcm_mb=chip.vtcm_mb,
        fp16=chip.fp16,
    )


def _wrong(problem: Problem) -> Wrong:
    return Wrong(
        message=problem.message, at=str(problem.at) if problem.at else None, hint=problem.hint
    )
