"""A plan as a picture: its actions, folded into as few boxes as can be read. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

STATES = {"broken": "broken", "stale": "stale", "waits": "waiting", "current": "current"}
"""Each state of an action → its word, what most wants to be seen first."""

MOST = 240
"""So many boxes can still be read; what has more is folded further."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One action, with what a reader wants to know of it."""

    name: str
    step: str
    group: str  # its model
    needs: tuple[str, ...]
    state: str  # a key of STATES
    reasons: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, object]:
        told = {"name": self.name, "step": self.step, "needs": self.needs, "state": self.state}
        return {**told, "reasons": self.reasons, "facts": self.facts}


@dataclass(frozen=True, kw_only=True)
class Box:
    """One action, or several that a reader takes for one."""

    id: str
    title: str
    members: tuple[Shown, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        found = Counter(one.state for one in self.members)
        return {state: found[state] for state in STATES if found[state]}

    @property
    def state(self) -> str:
        """The one that most wants to be seen."""
        return next(iter(self.counts))

    @property
    def about(self) -> str:
        """What stands below the title: "9 actions: 2 stale, 7 current", "stale: never built"."""
        if len(self.members) == 1:
            return ": ".join([STATES[self.state], *self.members[0].reasons[:1]])
        if len(self.counts) == 1:
            return f"{len(self.members):,} actions, all {STATES[self.state]}"
        told = ", ".join(f"{count:,} {STATES[state]}" for state, count in self.counts.items())
        return f"{len(self.members):,} actions: {told}"


@dataclass(frozen=True, kw_only=True)
class Picture:
    fold: str
    boxes: tuple[Box, ...]  # what is needed comes first, as far as folding leaves an order
    edges: tuple[tuple[str, str], ...]  # ids: what is needed, what needs it

    @cached_property
    def counts(self) -> Mapping[str, int]:
        found = Counter(one.state for box in self.boxes for one in box.members)
        return {state: found[state] for state in STATES if found[state]}


def one_line(text: str) -> str:
    """Without what no terminal, XML or other program's file should get of a stranger's text."""
    return "".join(c if c.isprintable() else " " for c in text)


def _without_chip(action: Shown) -> str:
    base, at, _ = action.name.rpartition("@")
    return f"{base}@*" if at else action.name


FOLDS: Mapping[str, Callable[[Shown], str]] = {
    "none": lambda action: action.name,
    "chips": _without_chip,
    "models": lambda action: f"{action.step} {action.group}".strip(),
    "steps": lambda action: action.step,
}
"""How much is folded, from nothing on → what the boxes are called."""


def picture(actions: Sequence[Shown], fold: str = "auto", *, all_edges: bool = False) -> Picture:
    """`fold`: a key of FOLDS, or "auto" for the first that leaves few enough boxes.

    An edge that a longer way says as well is left out, unless `all_edges` is asked for.
    """
    if fold == "auto":
        fold = next((f for f in FOLDS if len({*map(FOLDS[f], actions)}) <= MOST), "steps")
    members: dict[str, list[Shown]] = {}
    for action in actions:
        members.setdefault(FOLDS[fold](action), []).append(action)
    boxes = tuple(
        Box(id=f"n{number}", title=title, members=tuple(found))
        for number, (title, found) in enumerate(members.items())
    )
    of = {one.name: box.id for box in boxes for one in box.members}
    edges = dict.fromkeys(
        (of[need], of[action.name])
        for action in actions
        for need in action.needs
        if need in of and of[need] != of[action.name]
    )
    kept = tuple(edges) if all_edges else _reduced([box.id for box in boxes], edges)
    return Picture(fold=fold, boxes=boxes, edges=kept)


def forward(ids: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that go along the order of `ids`. Folding makes circles, and others close them."""
    place = {id_: number for number, id_ in enumerate(ids)}
    return [(a, b) for a, b in edges if place[a] < place[b]]


def _reduced(ids: Sequence[str], edges: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Without what a longer way along the order says as well."""
    edges = tuple(edges)
    place = {id_: number for number, id_ in enumerate(ids)}
    after: dict[str, list[str]] = {}
    for a, b in forward(ids, edges):
        after.setdefault(a, []).append(b)
    reached: dict[str, int] = {}  # as bits
    said: set[tuple[str, str]] = set()
    for a in reversed(ids):
        bits = 0
        for b in sorted(after.get(a, ()), key=place.__getitem__):
            if bits >> place[b] & 1:
                said.add((a, b))
            bits |= reached[b] | 1 << place[b]
        reached[a] = bits
    return tuple(edge for edge in edges if edge not in said)
