"""What `precision: auto` tried, and the layers' costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.actions.action import Action
from qnnbuild.actions.plan import Plan
from qnnbuild.report.standing import Known
from qnnbuild.report.told import Layer, Search, Try


def searches(plan: Plan, names: Sequence[str], known: Known) -> Iterator[Search]:
    """Of one model, `names` its actions: a search for each graph that has one."""
    for name in names:
        action = plan[name]
        if action.step == "convert" and any(plan[need].step == "search" for need in action.needs()):
            search = _search(action, plan.upto([name]), known)
            if search is not None:
                yield search


def _search(taken: Action, part: Plan, known: Known) -> Search | None:
    """What was found; of a search that is not done, the tries that were judged."""
    found = known.read(taken.name, "quantization", "quantization.json")
    tried = found["search"]["tried"] if found else list(_judged(part, known))
    if not tried:
        return None
    return Search(
        of=_of(taken.name),
        bar_db=_bar(part),
        holds=tried[-1]["holds"],
        tries=_tries(tried),
        layers=tuple(_layers(part, known)),
    )


def _of(name: str) -> str:
    """convert/MODEL/GRAPH[/VARIANT]+auto[~CHIP] → GRAPH[/VARIANT][~CHIP]."""
    _, _, graph = name.partition("/")[2].partition("/")
    base, _, word = graph.rpartition("+")
    _, tilde, chip = word.partition("~")
    return base + tilde + chip


def _judged(part: Plan, known: Known) -> Iterator[Mapping[str, Any]]:
    for action in part:
        if action.step == "judge" and "verdict" in action.outputs:
            verdict = known.read(action.name, "verdict", "verdict.json")
            if verdict is not None and verdict["made"]:
                yield verdict


def _tries(tried: Sequence[Mapping[str, Any]]) -> tuple[Try, ...]:
    return tuple(
        Try(
            label=f"{one['word']}, {len(one['lifted'])} lifted" if one["lifted"] else one["word"],
            holds=one["holds"],
            sqnr_db=one["sqnr_db"],
            nodes=one["nodes"],
            lifted=tuple(one["lifted"]),
            below=tuple(one["below"]),
        )
        for one in tried
    )


def _bar(part: Plan) -> float | None:
    """The graph's own; an output may have another."""
    for action in part:
        bars = action.params.get("bars")
        found = bars.get("min_sqnr_db") if isinstance(bars, Mapping) else None
        if isinstance(found, int | float):
            return float(found)
    return None


def _layers(part: Plan, known: Known) -> Iterator[Layer]:
    for action in part:
        if action.step == "sensitivity":
            said = known.read(action.name, "sensitivity", "sensitivity.json")
            for one in said["layers"] if said else ():
                yield Layer(
                    layer=one["layer"], operator=one["operator"], sqnr_db=float(one["sqnr_db"])
                )
