"""Where the boxes of a plan's picture stand: columns from left to right, with few crossings.

The layered drawing of Sugiyama: ranks by the longest way, long edges led through the columns
between, order by barycentres, heights by least squares with room between neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.report.plan_picture import Box, Picture, forward

LETTER = 7.3
"""Width of a letter of the monospaced 12 px font; what is drawn leaves a little more."""

LONGEST = 46
"""Letters of a line; the whole of it is told in other places."""

HEIGHT, GAP, BETWEEN, EDGE, MARGIN = 42.0, 14.0, 64.0, 8.0, 16.0
SWEEPS = 12


@dataclass(frozen=True, kw_only=True)
class Place:
    x: float
    y: float
    width: float
    height: float = HEIGHT


@dataclass(frozen=True, kw_only=True)
class Layout:
    """In pixels. Edges are points from the right side of a box to the left side of another."""

    places: Mapping[str, Place]
    edges: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]
    width: float
    height: float


@dataclass(kw_only=True)
class _Columns:
    """Ids by column; an edge that is longer than one has an id of its own in each between."""

    ids: list[list[str]]
    next: dict[str, list[str]] = field(default_factory=dict)
    before: dict[str, list[str]] = field(default_factory=dict)
    ways: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)  # what hangs together has one number

    def link(self, a: str, b: str) -> None:
        self.next.setdefault(a, []).append(b)
        self.before.setdefault(b, []).append(a)


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def laid_out(picture: Picture) -> Layout:
    boxes = {box.id: box for box in picture.boxes}
    if not boxes:
        return Layout(places={}, edges={}, width=2 * MARGIN, height=2 * MARGIN)
    columns = _columns(picture)
    _order(columns)
    heights = {id_: HEIGHT if id_ in boxes else EDGE for ids in columns.ids for id_ in ids}
    middles = _middles(columns, heights)
    widths = [max((_width(boxes[i]) for i in ids if i in boxes), default=0) for ids in columns.ids]
    places: dict[str, Place] = {}
    x = MARGIN
    for ids, width in zip(columns.ids, widths, strict=True):
        for id_ in ids:
            height = heights[id_]
            places[id_] = Place(x=x, y=middles[id_] - height / 2, width=width, height=height)
        x += width + BETWEEN
    return Layout(
        places={id_: places[id_] for id_ in boxes},
        edges={edge: _points(edge, columns, places) for edge in picture.edges},
        width=x - BETWEEN + MARGIN,
        height=max(place.y + place.height for place in places.values()) + MARGIN,
    )


def _width(box: Box) -> float:
    return 24 + LETTER * max(len(short(box.title)), len(short(box.about)))


def _columns(picture: Picture) -> _Columns:
    ids = [box.id for box in picture.boxes]
    ways = forward(ids, picture.edges)
    ranks = _ranks(ids, ways)
    columns = _Columns(ids=[[] for _ in range(max(ranks.values()) + 1)])
    for id_ in ids:
        columns.ids[ranks[id_]].append(id_)
    for a, b in ways:
        way = [a]
        for rank in range(ranks[a] + 1, ranks[b]):
            way.append(f"{a} {b} {rank}")
            columns.ids[rank].append(way[-1])
        way.append(b)
        columns.ways[a, b] = way
        for one, other in itertools.pairwise(way):
            columns.link(one, other)
    return columns


def _number_parts(columns: _Columns) -> None:
    """In the order of their first boxes, so that models stand one below the other."""
    number = 0
    for first in (id_ for ids in columns.ids for id_ in ids):
        waiting = [] if first in columns.parts else [first]
        number += len(waiting)
        while waiting:
            id_ = waiting.pop()
            if id_ not in columns.parts:
                columns.parts[id_] = number
                waiting += [*columns.next.get(id_, ()), *columns.before.get(id_, ())]


def _ranks(ids: Sequence[str], ways: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The longest way to each; what stands on nothing comes as late as what needs it lets it."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for a, b in ways:
        before.setdefault(b, []).append(a)
        after.setdefault(a, []).append(b)
    ranks: dict[str, int] = {}
    for id_ in ids:
        ranks[id_] = max((ranks[a] + 1 for a in before.get(id_, ())), default=0)
    for id_ in ids:
        if id_ not in before and id_ in after:
            ranks[id_] = min(ranks[b] for b in after[id_]) - 1
    return ranks


def _order(columns: _Columns) -> None:
    """Each column by the middle of its neighbours, to and fro; what hangs together stays so."""
    _number_parts(columns)
    for ids in columns.ids:
        ids.sort(key=columns.parts.__getitem__)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        sides = columns.before if down else columns.next
        numbers = range(1, len(columns.ids)) if down else range(len(columns.ids) - 2, -1, -1)
        for number in numbers:
            beside = columns.ids[number - 1 if down else number + 1]
            place = {id_: float(i) for i, id_ in enumerate(beside)}
            own = {id_: float(i) for i, id_ in enumerate(columns.ids[number])}
            columns.ids[number].sort(
                key=lambda i: (columns.parts[i], _mean(sides.get(i, ()), place, own[i]))
            )


def _mean(ids: Iterable[str], values: Mapping[str, float], otherwise: float) -> float:
    found = [values[id_] for id_ in ids]
    return sum(found) / len(found) if found else otherwise


def _middles(columns: _Columns, heights: Mapping[str, float]) -> dict[str, float]:
    middles: dict[str, float] = {}
    for ids in columns.ids:
        middles |= _spread(ids, [0.0] * len(ids), heights)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for ids in columns.ids if down else reversed(columns.ids):
            sides = [columns.before, columns.next] if sweep >= SWEEPS - 2 else []
            sides = sides or [columns.before if down else columns.next]
            wished = [
                _mean([n for side in sides for n in side.get(i, ())], middles, middles[i])
                for i in ids
            ]
            middles |= _spread(ids, wished, heights)
    top = min(middles[i] - heights[i] / 2 for ids in columns.ids for i in ids)
    return {id_: middle - top + MARGIN for id_, middle in middles.items()}


def _spread(
    ids: Sequence[str], wished: Sequence[float], heights: Mapping[str, float]
) -> dict[str, float]:
    """Nearest to what is wished, in this order and with room between: pooled where it is tight."""
    offsets = [0.0]
    for one, other in itertools.pairwise(ids):
        offsets.append(offsets[-1] + (heights[one] + heights[other]) / 2 + GAP)
    pools: list[tuple[float, int]] = []  # mean of what is wished, how many
    for wish, offset in zip(wished, offsets, strict=False):
        mean, count = wish - offset, 1
        while pools and pools[-1][0] >= mean:
            before, many = pools.pop()
            mean, count = (mean * count + before * many) / (count + many), count + many
        pools.append((mean, count))
    found = [mean for mean, count in pools for _ in range(count)]
    return {id_: mean + offset for id_, mean, offset in zip(ids, found, offsets, strict=False)}


def _points(
    edge: tuple[str, str], columns: _Columns, places: Mapping[str, Place]
) -> tuple[tuple[float, float], ...]:
    way = columns.ways.get(edge, list(edge))
    first, last = places[way[0]], places[way[-1]]
    between = [
        point
        for id_ in way[1:-1]
        for point in (
            (places[id_].x, places[id_].y + EDGE / 2),
            (places[id_].x + places[id_].width, places[id_].y + EDGE / 2),
        )
    ]
    start = (first.x + first.width, first.y + first.height / 2)
    return (start, *between, (last.x, last.y + last.height / 2))
