"""Lines of a few pixels that show how a number went over the nights. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from qnnbuild.report.amounts import size
from qnnbuild.report.summary import Told
from qnnbuild.text.amounts import duration

WIDTH, HEIGHT, EDGE = 120.0, 26.0, 3.0

Number = float | None


@dataclass(frozen=True, kw_only=True)
class Spark:
    """`lines` are points of an SVG's polylines in a box of WIDTH × HEIGHT; a gap ends a line."""

    title: str
    first: str
    last: str
    lines: tuple[str, ...]
    end: tuple[float, float] | None  # where the newest lies


def nights_drawn(told: Told) -> list[Spark]:
    """Of all cells; nothing before there are two nights."""
    nights = told.get("nights") or ()
    if len(nights) < 2:
        return []
    return [_spark(title, [night[name] for night in nights], form) for title, name, form in DRAWN]


def _spark(title: str, values: Sequence[Number], form: Callable[[float], str]) -> Spark:
    points = list(_points(values))
    first, last = ("–" if value is None else form(value) for value in (values[0], values[-1]))
    newest = points[-1][-1] if points and values[-1] is not None else None
    lines = tuple(" ".join(f"{x:g},{y:g}" for x, y in line) for line in points)
    return Spark(title=title, first=first, last=last, lines=lines, end=newest)


def _points(values: Sequence[Number]) -> Iterator[list[tuple[float, float]]]:
    there = [value for value in values if value is not None]
    if not there:
        return
    least, span = min(there), max(there) - min(there)
    line: list[tuple[float, float]] = []
    for number, value in enumerate(values):
        if value is None:
            if line:
                yield line
            line = []
            continue
        x = EDGE + (WIDTH - 2 * EDGE) * number / max(len(values) - 1, 1)
        high = (value - least) / span if span else 0.5
        line.append((round(x, 1), round(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * high, 1)))
    if line:
        yield line


def _count(value: float) -> str:
    return f"{value:,.0f}"


DRAWN: Sequence[tuple[str, str, Callable[[float], str]]] = (
    ("built", "built", _count),
    ("failed", "failed", _count),
    ("bytes of all bundles", "size", lambda value: size(int(value))),
    ("compile time of all", "seconds", duration),
    ("SQNR, median of cells", "sqnr", lambda value: f"{value:.1f} dB"),
)
"""Title, name in a night, form."""
