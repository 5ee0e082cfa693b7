"""How a build stands in one moment, as data and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qnnbuild.text.amounts import duration

if TYPE_CHECKING:
    from qnnbuild.engine.outlook import Rest


@dataclass(frozen=True, kw_only=True)
class Going:
    """An action that a worker has."""

    name: str
    worker: int  # from 1; the lowest that was free
    spent_s: float
    expected_s: float | None = None  # what its last run took; None: it never ran, or not looked up
    waits_for: str = ""
    where: str = ""  # which worker of a cluster it is at
    ran: bool = False  # its process began

    def told(self) -> str:
        """30 s of about 45 s."""
        if self.waits_for:
            return f"waits for {self.waits_for}, {duration(self.spent_s)}"
        of = "" if self.expected_s is None else f" of about {duration(self.expected_s)}"
        return f"{duration(self.spent_s)}{of}{f', on {self.where}' if self.where else ''}"


@dataclass(frozen=True, kw_only=True)
class Status:
    done: int
    total: int
    told: str  # what came of those that are done
    seconds: float  # since the build began
    going: tuple[Going, ...]  # by worker
    then: tuple[tuple[str, tuple[str, ...]], ...]  # who starts next, and what each waits for
    rest: Rest | None  # None: nobody has looked yet


def told_rest(rest: Rest | None) -> str:
    """about 3 min left; or how much is not known."""
    if rest is None:
        return ""
    why = [
        *([f"{rest.never:,} never ran"] if rest.never else []),
        *([f"{rest.over:,} longer than the last time"] if rest.over else []),
    ]
    if not why:
        return f"about {roughly(rest.seconds)} left"
    least = f"at least {roughly(rest.seconds)} left" if rest.seconds >= 1 else "time left unknown"
    return f"{least}: {', '.join(why)}"


def roughly(seconds: float) -> str:
    """As exact as an estimate can be: 5 s, 40 s, 3 min, 1 h 25 min. Rounded up."""
    if seconds <= 10:
        return f"{max(1, math.ceil(seconds))} s"
    if seconds <= 50:
        return f"{math.ceil(seconds / 10) * 10} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    minutes = math.ceil(minutes / 5) * 5
    return f"{minutes // 60:,} h {minutes % 60} min"
