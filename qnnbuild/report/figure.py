"""One picture of the report, as Plotly takes it: plain dicts of traces and a layout. Pure.

Colours are words that begin with an @; the page puts those of its light or dark form in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

GOOD, BAD, PLAIN, LIFTED, FAINT = "@good", "@bad", "@plain", "@lifted", "@faint"
SERIES = tuple(f"@series-{number}" for number in range(1, 9))
"""Colours that can be told apart, for kinds that have no meaning of their own."""

MOST_POINTS = 1_500
"""Of one picture: each is an element of the page, and more of them make it slow."""

Points = Sequence[tuple[float, str]]
"""A value and what it is of."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    id: str
    title: str
    about: str  # one sentence: what is seen, and the numbers for who does not see it
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height: int  # in pixels

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "traces": list(self.traces),
            "layout": dict(self.layout),
            "height": self.height,
        }


def boxes(by_name: Mapping[str, Points], form: str) -> list[dict[str, Any]]:
    """A box for each name, with every point as long as these are not too many."""
    if sum(map(len, by_name.values())) <= MOST_POINTS:
        return [_with_points(name, points, form) for name, points in by_name.items()]
    return [_by_quartiles(by_name)]


def _with_points(name: str, points: Points, form: str) -> dict[str, Any]:
    return {
        "type": "box",
        "name": name,
        "y": [value for value, _ in points],
        "text": [of for _, of in points],
        "boxpoints": "all",
        "jitter": 0.6,
        "pointpos": 0,
        "marker": {"color": PLAIN, "size": 6, "opacity": 0.75},
        "line": {"color": FAINT, "width": 1},
        "fillcolor": "rgba(0,0,0,0)",
        "hovertemplate": f"%{{text}}<br>{form}<extra></extra>",
        "hoveron": "points",
    }


def _by_quartiles(by_name: Mapping[str, Points]) -> dict[str, Any]:
    each = [_five(sorted(value for value, _ in points)) for points in by_name.values()]
    least, low, middle, high, most = (list(one) for one in zip(*each, strict=True))
    return {
        "type": "box",
        "x": list(by_name),
        "lowerfence": least,
        "q1": low,
        "median": middle,
        "q3": high,
        "upperfence": most,
        "line": {"color": PLAIN, "width": 1},
        "fillcolor": "rgba(0,0,0,0)",
    }


def _five(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    one = [values[0]] * 3
    low, middle, high = quantiles(values, method="inclusive") if len(values) > 1 else one
    return values[0], low, middle, high, values[-1]
