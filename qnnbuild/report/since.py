"""What is otherwise than on the night before, for the top of the report. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qnnbuild.report.amounts import size
from qnnbuild.report.diff import SAME_DB, SLOWER
from qnnbuild.report.fail_on import LEAST_S
from qnnbuild.report.history import measures_of, value_at
from qnnbuild.report.summary import STATES, Told, cells, name_of

WORSE = ("failed", "not built", "gone", "less accurate", "more on the CPU", "bigger", "slower")
BETTER = ("mended", "new", "more accurate", "less on the CPU", "smaller", "faster", "otherwise")
"""Kinds of changes, in the order in which they are told."""


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One cell; `weight` says by how much, for the order of lines."""

    kind: str
    cell: str
    before: Any
    after: Any
    weight: float


@dataclass(frozen=True, kw_only=True)
class SinceLine:
    """The same kind of change of one row on all its chips, those with the largest first."""

    kind: str
    row: str
    said: str
    chips: tuple[str, ...]
    why: str | None = None  # of what failed: the message


@dataclass(frozen=True, kw_only=True)
class Since:
    """Against the night of `night` (UTC); lines are told once for all chips."""

    night: str
    counts: Mapping[str, int]  # kind → cells
    worse: tuple[SinceLine, ...]
    better: tuple[SinceLine, ...]


def since(told: Told) -> Since | None:
    """None where no earlier night is known."""
    nights: Sequence[Told] = told.get("nights") or ()
    if len(nights) < 2:
        return None
    found: dict[str, list[Changed]] = {kind: [] for kind in (*WORSE, *BETTER)}
    for change in _changes(told, len(nights) - 2):
        found[change.kind].append(change)
    why = _whys(told)
    return Since(
        night=nights[-2]["made"],
        counts={kind: len(changes) for kind, changes in found.items() if changes},
        worse=tuple(line for kind in WORSE for line in _lines(found[kind], why)),
        better=tuple(line for kind in BETTER for line in _lines(found[kind], why)),
    )


def _changes(told: Told, night: int) -> Iterator[Changed]:
    now = measures_of(told)
    for cell, earlier in (told.get("earlier") or {}).items():
        today = now.get(cell, {})
        then = {
            measure: value_at(entries, night, today.get(measure))
            for measure, entries in earlier.items()
        }
        yield from _of_cell(cell, {**today, **then}, today)


def _of_cell(cell: str, then: Told, today: Told) -> Iterator[Changed]:
    was, now = then.get("state"), today.get("state")
    if was != now:
        words = (STATES.get(was or "", "nothing"), STATES.get(now or "", "gone"))
        yield Changed(kind=_kind(was, now), cell=cell, before=words[0], after=words[1], weight=1.0)
    for measure, compare in COMPARED.items():
        before, after = then.get(measure), today.get(measure)
        if before is None or after is None or before == after:
            continue
        told = compare(before, after)
        if told is not None:
            kind, weight = told
            yield Changed(kind=kind, cell=cell, before=before, after=after, weight=weight)


def _kind(was: str | None, now: str | None) -> str:
    if now is None:
        return "gone"
    if now in {"failed", "stale"}:
        return {"failed": "failed", "stale": "not built"}[now]
    if was is None:
        return "new"
    return "mended" if was in {"failed", "stale"} else "otherwise"


Found = tuple[str, float] | None


def _size(before: float, after: float) -> Found:
    return "bigger" if after > before else "smaller", abs(after - before) / max(before, 1)


def _seconds(before: float, after: float) -> Found:
    """A compile's time is the machine's, too."""
    short, long = sorted((before, after))
    if long <= short * SLOWER or long - short <= LEAST_S:
        return None
    return "slower" if after > before else "faster", long / max(short, 0.001)


def _sqnr(before: float, after: float) -> Found:
    if abs(after - before) < SAME_DB:
        return None
    return "less accurate" if after < before else "more accurate", abs(after - before)


def _cpu(before: float, after: float) -> Found:
    return "more on the CPU" if after > before else "less on the CPU", abs(after - before)


COMPARED: Mapping[str, Callable[[float, float], Found]] = {
    "size": _size, "seconds": _seconds, "sqnr": _sqnr, "cpu": _cpu,
}  # fmt: skip


def _lines(changes: Sequence[Changed], why: Mapping[str, str]) -> list[SinceLine]:
    by_row: dict[tuple[str, str | None], list[Changed]] = {}
    for one in sorted(changes, key=lambda one: (-one.weight, one.cell)):
        reason = why.get(one.cell) if one.kind == "failed" else None
        by_row.setdefault((one.cell.rpartition("@")[0], reason), []).append(one)
    return [
        SinceLine(
            kind=found[0].kind,
            row=row,
            said=_said(found),
            chips=tuple(one.cell.rpartition("@")[2] for one in found),
            why=reason,
        )
        for (row, reason), found in by_row.items()
    ]


def _said(found: Sequence[Changed]) -> str:
    """The largest change with its numbers, and how far the others lie."""
    first, last = found[0], found[-1]
    one, other = _amount(first), _amount(last)
    return one if len(found) == 1 or one == other else f"{one}; the least: {other}"


def _amount(one: Changed) -> str:
    form = FORMS.get(one.kind)
    if form is None:
        return f"{one.before} → {one.after}"
    return form(one.before, one.after)


def _bytes(before: int, after: int) -> str:
    return f"{size(before)} → {size(after)} ({(after - before) / max(before, 1):+.1%})"


def _db(before: float, after: float) -> str:
    return f"{before:.1f} → {after:.1f} dB ({after - before:+.1f})"


def _took(before: float, after: float) -> str:
    return f"{before:.1f} → {after:.1f} s (×{after / max(before, 0.001):.1f})"


def _nodes(before: int, after: int) -> str:
    return f"{before} → {after} nodes ({after - before:+d})"


FORMS: Mapping[str, Callable[[Any, Any], str]] = {
    "bigger": _bytes, "smaller": _bytes, "less accurate": _db, "more accurate": _db,
    "slower": _took, "faster": _took, "more on the CPU": _nodes, "less on the CPU": _nodes,
}  # fmt: skip


def _whys(told: Told) -> dict[str, str]:
    """Cell → the message of what failed."""
    return {
        f"{name_of(model, row)}@{cell['chip']}": model["failures"][cell["failures"][0]]["message"]
        for model, row, cell in cells(told)
        if cell["failures"]
    }
