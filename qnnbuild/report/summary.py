"""What a report says before anyone clicks: counts, failures once each, tables. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Told = Mapping[str, Any]

STATES = {
    "built": "built",
    "failed": "failed",
    "known": "known failure",
    "stale": "not built",
    "impossible": "not possible",
}
"""Of cells, with the words that people read; what nobody asks for and could work is not told."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """One failure, with all actions and cells that it stops."""

    failure: Told
    said: str | None  # the tool's last word
    actions: tuple[str, ...]
    cells: tuple[str, ...]  # MODEL[/VARIANT]@CHIP


@dataclass(frozen=True, kw_only=True)
class KnownLine:
    graph: str  # MODEL/GRAPH[/VARIANT]
    chips: tuple[str, ...]
    reason: str
    issue: str | None
    how: str | None


@dataclass(frozen=True, kw_only=True)
class CpuLine:
    graph: str
    chips: tuple[str, ...]
    nodes: tuple[Told, ...]
    share: float | None


@dataclass(frozen=True, kw_only=True)
class ModelLine:
    """One row of the matrix in a line."""

    name: str
    variant: str
    precisions: tuple[str, ...]
    states: Mapping[str, int]
    sqnr: tuple[float, float] | None  # the worst and the best of its chips
    sizes: tuple[int, int] | None  # the smallest and the largest bundle


@dataclass(frozen=True, kw_only=True)
class Summary:
    states: Mapping[str, int]
    failed: tuple[Failed, ...]
    known: tuple[KnownLine, ...]
    on_cpu: tuple[CpuLine, ...]
    models: tuple[ModelLine, ...]
    sdk_builds: tuple[str, ...]


def summary(told: Told) -> Summary:
    states: Counter[str] = Counter()
    for *_, cell in cells(told):
        states[cell["state"]] += 1
    states["impossible"] = sum(len(row["impossible"]) for m in told["models"] for row in m["rows"])
    return Summary(
        states={state: states[state] for state in STATES},
        failed=tuple(_failed(told)),
        known=tuple(_known(told)),
        on_cpu=tuple(_on_cpu(told)),
        models=tuple(_line(m, row) for m in told["models"] for row in m["rows"]),
        sdk_builds=tuple(sorted(_sdk_builds(told))),
    )


def cells(told: Told) -> Iterator[tuple[Told, Told, Told]]:
    """model, row, cell."""
    for model in told["models"]:
        for row in model["rows"]:
            for cell in row["cells"]:
                yield model, row, cell


def name_of(model: Told, row: Told) -> str:
    return f"{model['name']}/{row['variant']}" if row["variant"] else str(model["name"])


def _failed(told: Told) -> Iterator[Failed]:
    """The same words but for the chip are one failure: a missing file stops every bundle."""
    found: dict[str, tuple[Told, dict[str, None], dict[str, None]]] = {}
    for model, row, cell in cells(told):
        for action in cell["failures"]:
            failure = model["failures"][action]
            same = repr((failure["message"].replace(cell["chip"], ""), failure["at"]))
            _, actions, stopped = found.setdefault(same, (failure, {}, {}))
            actions[action] = None
            stopped[f"{name_of(model, row)}@{cell['chip']}"] = None
    for failure, actions, stopped in found.values():
        said = _said(failure)
        yield Failed(failure=failure, said=said, actions=tuple(actions), cells=tuple(stopped))


SAYS = ("says", "it says")


def _said(failure: Told) -> str | None:
    """What the error quotes of the tool; else where its log ends."""
    quoted = [text for label, text in failure["facts"] if label in SAYS]
    found = quoted or failure["last_lines"]
    return str(found[-1]) if found else None


def _known(told: Told) -> Iterator[KnownLine]:
    found: dict[tuple[str, str, str | None, str | None], list[str]] = {}
    for model, row, cell in cells(told):
        for one in cell["known"]:
            variant = f"/{row['variant']}" if row["variant"] else ""
            graph = f"{model['name']}/{one['graph']}{variant}"
            same = (graph, one["reason"], one["issue"], one["how"])
            found.setdefault(same, []).append(cell["chip"])
    for (graph, reason, where, how), chips in found.items():
        yield KnownLine(graph=graph, chips=tuple(chips), reason=reason, issue=where, how=how)


def _on_cpu(told: Told) -> Iterator[CpuLine]:
    found: dict[str, tuple[str, Told, list[str]]] = {}
    for model, row, cell in cells(told):
        for graph in cell["graphs"]:
            compiled = graph["compiled"]
            if compiled is None or not compiled["cpu_nodes"]:
                continue
            variant = f"/{row['variant']}" if row["variant"] else ""
            name = f"{model['name']}/{graph['graph']}{variant}"
            same = repr((name, compiled["cpu_nodes"], compiled["cpu_share"]))
            found.setdefault(same, (name, compiled, []))[2].append(cell["chip"])
    for name, compiled, chips in found.values():
        yield CpuLine(
            graph=name,
            chips=tuple(chips),
            nodes=tuple(compiled["cpu_nodes"]),
            share=compiled["cpu_share"],
        )


def _line(model: Told, row: Told) -> ModelLine:
    graphs = [graph for cell in row["cells"] for graph in cell["graphs"]]
    proofs = [model["proofs"][g["proof"]] for g in graphs if g["proof"] is not None]
    sqnr = [proof["sqnr_db"] for proof in proofs if proof["sqnr_db"] is not None]
    sizes = [cell["size"] for cell in row["cells"] if cell["size"] is not None]
    return ModelLine(
        name=model["name"],
        variant=row["variant"],
        precisions=tuple(dict.fromkeys(graph["precision"] for graph in graphs)),
        states=Counter(cell["state"] for cell in row["cells"]),
        sqnr=(min(sqnr), max(sqnr)) if sqnr else None,
        sizes=(min(sizes), max(sizes)) if sizes else None,
    )


def _sdk_builds(told: Told) -> set[str]:
    compiled = (g["compiled"] for _, _, cell in cells(told) for g in cell["graphs"])
    return {one["sdk_build"] for one in compiled if one is not None and one["sdk_build"]}
