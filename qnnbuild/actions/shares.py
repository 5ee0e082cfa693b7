"""Shares: a plan cut so that several machines build it, each action on one of them.

First come the models, in what no chip changes; then the chips, each with what stands on nothing of
another chip; last, in one share, the rest: bundles that say that another chip's binary was run,
bundles of several chips, archives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from qnnbuild.actions.plan import Plan

FIRST = "first"
CHIP = "chip"
LAST = "last"

MOST = 256
"""So many jobs may come of one matrix of GitHub's."""


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Names of shares → names of actions, in the plan's order: "first/silero-vad", "chip/SM8750",
    "last". A share that is empty is not there.
    """

    names: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, plan: Plan, wanted: Collection[str] | None = None) -> Shares:
        """Of the whole plan; of `wanted` alone, those without any of these are left out."""
        found: dict[str, list[str]] = {}
        for name, share in _shares(plan).items():
            found.setdefault(share, []).append(name)
        return cls(
            names={
                share: tuple(names)
                for share, names in found.items()
                if wanted is None or not set(names).isdisjoint(wanted)
            }
        )

    @cached_property
    def waves(self) -> Mapping[str, tuple[str, ...]]:
        """Kind → its shares: each kind stands on those before it, and on nothing of its own."""
        kinds = {kind: tuple(s for s in self.names if _KINDS[_kind(s)] == kind) for kind in _KINDS}
        return {kind: shares for kind, shares in kinds.items() if shares}


_KINDS = (FIRST, CHIP, LAST)


def _kind(share: str) -> int:
    """Its place in the order of kinds."""
    return _KINDS.index(share.partition("/")[0])


def in_parts(shares: Sequence[str], size: int = MOST) -> Iterator[tuple[str, ...]]:
    """At most `size` at a time, all about equally large."""
    count = -(-len(shares) // size)
    for part in range(count):
        begin, end = (len(shares) * edge // count for edge in (part, part + 1))
        yield tuple(shares[begin:end])


def _shares(plan: Plan) -> dict[str, str]:
    """Action → share, by the chips of all that it stands on."""
    chips: dict[str, frozenset[str]] = {}
    shares: dict[str, str] = {}
    for action in plan:  # what is needed comes first
        own = _chip(action.name)
        found = frozenset((own,) if own else ()).union(*(chips[n] for n in action.needs()))
        chips[action.name] = found
        share = f"{CHIP}/{min(found)}" if found else f"{FIRST}/{action.group}"
        below = {shares[n] for n in action.needs()} - {share}
        apart = len(found) > 1 or any(_kind(one) >= _kind(share) for one in below)
        shares[action.name] = LAST if apart else share
    return shares


def _chip(name: str) -> str:
    """The name ends with what an action is for: "@SM8750", or several that have one binary."""
    return name.rpartition("@")[2] if "@" in name else ""
