"""Pictures by chip: sizes of bundles, and how long compiles took. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qnnbuild.report.amounts import size
from qnnbuild.report.figure import Figure, Points, boxes
from qnnbuild.report.history import measures_of
from qnnbuild.report.summary import Told


def by_chip(told: Told) -> list[Figure]:
    return [*_sizes(told), *_times(told)]


def _sizes(told: Told) -> Iterator[Figure]:
    points = _points(told, "size")
    if points:
        least, most = (size(int(value)) for value in _ends(points))
        yield Figure(
            id="sizes",
            title="Size by chip",
            about=f"Bytes of each bundle: {_count(points)} on {len(points)} chips, "
            f"from {least} to {most}. The scale is logarithmic.",
            traces=boxes(points, "%{y:.3s}B"),
            layout=_layout(told, points, "B"),
            height=380,
        )


def _times(told: Told) -> Iterator[Figure]:
    points = _points(told, "seconds")
    if points:
        least, most = _ends(points)
        yield Figure(
            id="compile-times",
            title="Compile time by chip",
            about=f"Seconds that the compiles of each cell took: {_count(points)} on "
            f"{len(points)} chips, from {least:.3g} s to {most:.3g} s. The scale is logarithmic.",
            traces=boxes(points, "%{y:.3g} s"),
            layout=_layout(told, points, " s"),
            height=380,
        )


def _layout(told: Told, points: Mapping[str, Points], unit: str) -> dict[str, object]:
    names = [chip["name"] for chip in told["chips"] if chip["name"] in points]
    return {
        "yaxis": {
            "type": "log",
            "ticksuffix": unit,
            "tickformat": "~s" if unit == "B" else "~g",
            "nticks": 8,
            "automargin": True,
        },
        "xaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names,
            "automargin": True,
        },
        "showlegend": False,
    }


def _points(told: Told, measure: str) -> dict[str, Points]:
    """Chip → one point for each cell that has it, in the order of the matrix."""
    found: dict[str, list[tuple[float, str]]] = {chip["name"]: [] for chip in told["chips"]}
    for cell, measures in measures_of(told).items():
        row, _, chip = cell.rpartition("@")
        if measures[measure]:
            found[chip].append((measures[measure], row))
    return {chip: points for chip, points in found.items() if points}


def _count(points: Mapping[str, Points]) -> str:
    number = sum(map(len, points.values()))
    return f"{number:,} cell" if number == 1 else f"{number:,} cells"


def _ends(points: Mapping[str, Points]) -> tuple[float, float]:
    values = [value for found in points.values() for value, _ in found]
    return min(values), max(values)
