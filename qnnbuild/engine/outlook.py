"""What is left of a build, and about how long it takes by the last runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush


@dataclass(frozen=True, kw_only=True)
class Rest:
    """How long the rest takes. What is not known counts as nothing, so `seconds` is the least."""

    seconds: float
    never: int = 0  # actions that never ran
    over: int = 0  # that run longer than the last time


class Outlook:
    """`needs`: every action that is not current → what it needs, in the order of the plan.

    `seconds`: what the last run of an action took; those that never ran are not in it. What is
    behind a stale action counts as if it ran, which is what it does unless it is cut off.
    """

    def __init__(self, needs: Mapping[str, Iterable[str]], seconds: Mapping[str, float]) -> None:
        self.seconds = seconds
        self._lacks = {name: {n for n in ones if n in needs} for name, ones in needs.items()}
        self._places = {name: place for place, name in enumerate(needs)}
        self._names = tuple(needs)
        self._needed_by: dict[str, list[str]] = {}
        for name, lacks in self._lacks.items():
            for need in lacks:
                self._needed_by.setdefault(need, []).append(name)

    def __len__(self) -> int:
        return len(self._lacks)

    def drop(self, name: str) -> None:
        """It has ended, however that was."""
        if self._lacks.pop(name, None) is not None:
            for behind in self._behind(name):
                self._lacks[behind].discard(name)

    def then(self, going: Collection[str], most: int) -> list[tuple[str, tuple[str, ...]]]:
        """Up to so many that wait for nothing but what is going on now, and what that is."""
        found: dict[str, tuple[str, ...]] = {}
        for one in going:
            for behind in self._behind(one):
                lacks = self._lacks[behind]
                if behind not in found and all(name in going for name in lacks):
                    found[behind] = tuple(sorted(lacks, key=self._places.__getitem__))
                    if len(found) == most:
                        return list(found.items())
        return list(found.items())

    def rest(self, running: Mapping[str, float], workers: int) -> Rest:
        """`running`: action → for how many seconds; `workers`: how many run at once.

        Plays the rest through: who is free takes the next of the plan, which is nearly doit's way.
        """
        going = {name: spent for name, spent in running.items() if name in self._lacks}
        known = self.seconds
        return Rest(
            seconds=self._played(going, max(workers, 1)),
            never=sum(name not in known for name in self._lacks),
            over=sum(name in known and spent > known[name] for name, spent in going.items()),
        )

    def _played(self, going: Mapping[str, float], workers: int) -> float:
        ends = [(max(0.0, self._takes(n) - spent), self._places[n]) for n, spent in going.items()]
        heapify(ends)
        lacking = {name: len(lacks) for name, lacks in self._lacks.items()}
        ready = [self._places[n] for n, count in lacking.items() if not count and n not in going]
        now = 0.0
        while ends or ready:
            while ready and len(ends) < workers:
                place = heappop(ready)
                heappush(ends, (now + self._takes(self._names[place]), place))
            now, place = heappop(ends)
            for behind in self._behind(self._names[place]):
                lacking[behind] -= 1
                if not lacking[behind]:
                    heappush(ready, self._places[behind])
        return now

    def _takes(self, name: str) -> float:
        return self.seconds.get(name, 0.0)

    def _behind(self, name: str) -> Iterator[str]:
        return (one for one in self._needed_by.get(name, ()) if one in self._lacks)
