"""The report's memory: what each cell was on earlier nights. Pure.

A page holds its own data, and with it that of nights before: `nights` has one line for each, and
the last is the page's own; `earlier` says what a cell's measure was *until* a night, and nothing of
what never changed. So a zoo that stands still costs nothing, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from qnnbuild.report.summary import Told, cells, name_of

MOST_NIGHTS = 30
MEASURES = ("state", "size", "seconds", "sqnr", "cpu")
"""Of a cell; sizes in bytes, `seconds` of all its compiles, `sqnr` of its worst output in dB."""

Entries = list[list[Any]]
"""[value, number of the last night that had it], in their order; what comes after is of today."""


def with_history(told: Mapping[str, Any], before: Told | None, *, apart: bool) -> dict[str, Any]:
    """`told` with what came before. Builds of one day are one night, unless `before` is apart."""
    tonight = _night(told)
    nights = list(before.get("nights") or [_night(before)]) if before is not None else []
    day = tonight["made"][:10]
    kept = nights if apart else [night for night in nights if night["made"][:10] < day]
    earlier: Mapping[str, Any] = {}
    if before is not None and kept:
        earlier = _earlier(told, before, len(kept) - 1)
    away = max(0, len(kept) + 1 - MOST_NIGHTS)
    return {
        **told,
        "nights": [*kept, tonight][away:],
        "earlier": _without(earlier, away) if away else earlier,
    }


def measures_of(told: Told) -> dict[str, dict[str, Any]]:
    """MODEL[/VARIANT]@CHIP → its measures today."""
    return {
        f"{name_of(model, row)}@{cell['chip']}": _measures(model, cell)
        for model, row, cell in cells(told)
    }


def value_at(entries: Sequence[Sequence[Any]], night: int, today: Any) -> Any:
    """Of one measure of one cell, on a night by its number."""
    return next((value for value, until in entries if until >= night), today)


def _measures(model: Told, cell: Told) -> dict[str, Any]:
    compiled = [graph["compiled"] for graph in cell["graphs"] if graph["compiled"]]
    proofs = [model["proofs"][graph["proof"]] for graph in cell["graphs"] if graph["proof"]]
    sqnr = [proof["sqnr_db"] for proof in proofs if proof["sqnr_db"] is not None]
    return {
        "state": cell["state"],
        "size": cell["size"],
        "seconds": round(sum(one["seconds"] for one in compiled), 3) if compiled else None,
        "sqnr": min(sqnr, default=None),
        "cpu": sum(len(one["cpu_nodes"]) for one in compiled) if compiled else None,
    }


def _night(told: Told) -> dict[str, Any]:
    """All cells of a night in a line; the SQNR is the median of cells."""
    found = list(measures_of(told).values())
    sqnr = [one["sqnr"] for one in found if one["sqnr"] is not None]
    run = told.get("run")
    return {
        "made": max(told["made"], run["began"] if run else ""),
        "built": sum(one["state"] == "built" for one in found),
        "failed": sum(one["state"] == "failed" for one in found),
        "size": sum(one["size"] or 0 for one in found),
        "seconds": round(sum(one["seconds"] or 0 for one in found), 3),
        "sqnr": round(median(sqnr), 2) if sqnr else None,
    }


def _earlier(told: Told, before: Told, last: int) -> dict[str, dict[str, Entries]]:
    """`last` is the number of the newest night that is kept of those that `before` knows."""
    now, was = measures_of(told), measures_of(before)
    known: Mapping[str, Mapping[str, Entries]] = before.get("earlier") or {}
    found: dict[str, dict[str, Entries]] = {}
    for cell in now.keys() | was.keys() | known.keys():
        if cell not in known and now.get(cell) == was.get(cell):
            continue
        changed = dict(_changed(known.get(cell, {}), was.get(cell, {}), now.get(cell, {}), last))
        if changed:
            found[cell] = changed
    return {cell: found[cell] for cell in sorted(found)}


def _changed(
    known: Mapping[str, Entries], was: Told, now: Told, last: int
) -> Iterator[tuple[str, Entries]]:
    for measure in MEASURES:
        entries = known.get(measure, [])
        then, today = value_at(entries, last, was.get(measure)), now.get(measure)
        older = [entry for entry in entries if entry[1] < last]
        if then != today:
            older.append([then, last])
        if older:
            yield measure, older


def _without(
    earlier: Mapping[str, Mapping[str, Entries]], away: int
) -> dict[str, dict[str, Entries]]:
    """With the first nights taken away."""
    found = {}
    for cell, known in earlier.items():
        left = {
            measure: [[value, until - away] for value, until in entries if until >= away]
            for measure, entries in known.items()
        }
        if any(left.values()):
            found[cell] = {measure: entries for measure, entries in left.items() if entries}
    return found
