"""The report as data: models × chips, and all that is known of each cell.

What several chips share stands once, by the name of the action that made it. `as_json` gives the
form that the page embeds and that `qnnbuild report --json` prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from qnnbuild.report.standing import Failure

REPORT_VERSION = 1

State = Literal["built", "failed", "known", "stale"]
"""Of a cell that the recipes want. `known`: fails as they say; `stale`: not made as it is now."""


@dataclass(frozen=True, kw_only=True)
class CpuNode:
    node: str
    operator: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar and the number that was held against it; `bar` is None for what may never be."""

    what: str
    of: str
    value: float
    bar: float | None
    holds: bool
    against: str


@dataclass(frozen=True, kw_only=True)
class SampleSet:
    """What a graph was calibrated with, or run on."""

    digest: str
    count: int
    synthetic: bool


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What running one binary found; chips of its generation share it."""

    chip: str  # whose binary was run
    ran_on: str  # HTP emulator
    samples: SampleSet | None
    compared_with: str
    why_not: str | None  # why its answers cannot be compared
    judged: bool  # False: the numbers are there, and no verdict yet, or a bad one
    sqnr_db: float | None  # of the worst output that is judged
    outputs: Mapping[str, Mapping[str, Any]]
    excused: Mapping[str, str]  # outputs that are not judged, and why
    metrics: Mapping[str, Mapping[str, Any]]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Whose weights the binary has, too, and what that saves of all their bytes when alone."""

    others: tuple[str, ...]
    saved: int
    alone: int


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """One graph of one cell, once it is compiled. Sizes in bytes, of all its files."""

    size: int
    seconds: float
    made: str  # UTC
    key: str
    log: str
    digest: str  # sha256 of the binary
    nodes: int  # of the graph; those that are not on the CPU are on the HTP
    cpu_nodes: tuple[CpuNode, ...]
    cpu_share: float | None  # of the multiply-adds
    sdk_build: str | None
    sharing: Sharing | None = None


@dataclass(frozen=True, kw_only=True)
class GraphCell:
    graph: str
    precision: str  # with `auto`, what was found
    asked: str  # as the recipe has it
    compiled: Compiled | None = None
    proof: str | None = None  # of the model's proofs
    calibration: str | None = None  # of the model's calibrations
    layers: str | None = None  # whom `qnnbuild debug` looks at, where it can


@dataclass(frozen=True, kw_only=True)
class KnownFailure:
    """`how` is what its run said; None while it was not run."""

    graph: str
    reason: str
    issue: str | None
    step: str | None = None
    how: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    chip: str
    state: State
    why: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()  # actions, in the model's failures
    known: tuple[KnownFailure, ...] = ()
    bundle: str | None = None  # the action that makes it
    folder: str | None = None  # below build/
    size: int | None = None
    key: str | None = None
    graphs: tuple[GraphCell, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Row:
    """`impossible` has the chips that no recipe asks for and that could not work: chip → why."""

    variant: str
    cells: tuple[Cell, ...]
    impossible: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Try:
    """One form of a graph that `precision: auto` looked at. `sqnr_db`: where → worst output's."""

    label: str
    holds: bool
    sqnr_db: Mapping[str, float | None]
    nodes: Mapping[str, int]  # bits → how many nodes compute in them
    lifted: tuple[str, ...]
    below: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Layer:
    layer: str
    operator: str
    sqnr_db: float


@dataclass(frozen=True, kw_only=True)
class Search:
    """What `precision: auto` tried, and what each layer costs in 8 bits, the worst first."""

    of: str  # the graph, with its variant
    bar_db: float | None
    holds: bool
    tries: tuple[Try, ...]
    layers: tuple[Layer, ...]


@dataclass(frozen=True, kw_only=True)
class ModelTold:
    name: str
    recipe: str
    description: str
    homepage: str
    license: str
    redistribute: bool
    rows: tuple[Row, ...]
    proofs: Mapping[str, Proof]
    calibrations: Mapping[str, SampleSet]
    failures: Mapping[str, Failure]
    searches: tuple[Search, ...]
    times: Mapping[str, float] = field(default_factory=dict)
    """Step → the seconds that making all that is current took, by the records."""


@dataclass(frozen=True, kw_only=True)
class ChipTold:
    name: str
    marketing: tuple[str, ...]
    arch: int
    vtcm_mb: int
    fp16: bool


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A mistake in a recipe: none of its models is in the plan."""

    message: str
    at: str | None
    hint: str | None


@dataclass(frozen=True, kw_only=True)
class RanTold:
    """One action of the last build that ran anything, in seconds after its first.

    `seconds` is its own time, up to `ended`; before that it waited for memory, or for a worker.
    """

    action: str
    step: str
    how: str
    began: float
    ended: float
    seconds: float
    worker: str


@dataclass(frozen=True, kw_only=True)
class RunTold:
    began: str  # UTC
    seconds: float
    counts: Mapping[str, int]  # how → actions; those that were current before are not in it
    times: Mapping[str, float]  # step → the seconds that its actions ran
    came: Mapping[str, str]  # MODEL[/VARIANT]@CHIP → how; other built cells were reused
    ran: tuple[RanTold, ...]  # in the order of their begin, of many those that took longest
    left_out: int


@dataclass(frozen=True, kw_only=True)
class Report:
    of: str  # digest of all that it tells of: equal ones need no second report
    made: str  # when the newest of what it tells of was made, UTC
    chips: tuple[ChipTold, ...]
    models: tuple[ModelTold, ...]
    wrong: tuple[Wrong, ...] = ()
    run: RunTold | None = None


def as_json(report: Report) -> dict[str, Any]:
    """The same as plain data."""
    text = json.dumps(report, default=vars, ensure_ascii=False)
    return {"report_version": REPORT_VERSION, **json.loads(text)}


def with_kept(
    told: dict[str, Any], before: Mapping[str, Any] | None, keep: frozenset[str]
) -> dict[str, Any]:
    """`told`, and of the report before it the models in `keep` as they were."""
    if not keep or before is None or before.get("report_version") != REPORT_VERSION:
        return told
    kept = [model for model in before["models"] if model["name"] in keep]
    chips = {chip["name"]: chip for chip in (*told["chips"], *before["chips"])}
    models = sorted([*told["models"], *kept], key=lambda model: model["name"])
    wanted = {
        cell["chip"] for model in models for row in model["rows"] for cell in row["cells"]
    }  # fmt: skip
    return {
        **told,
        "run": _one_run(told["run"], before.get("run")),
        "made": max(told["made"], before["made"]),
        "chips": sorted(
            (chip for chip in chips.values() if chip["name"] in wanted),
            key=lambda chip: (chip["arch"], chip["name"]),
        ),
        "models": models,
    }


def _one_run(run: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> Any:
    """What the page before said of the same build, whose plan had all models that it made."""
    if run is None or before is None or run["began"] != before["began"]:
        return run
    return {**before, "came": {**before["came"], **run["came"]}}
