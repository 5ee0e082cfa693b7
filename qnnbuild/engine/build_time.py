"""How long a build may take, and the errors that are the whole build's and not one action's."""

from __future__ import annotations

import time
from collections.abc import Callable

from qnnbuild.errors import Problem, QnnbuildError, StoreError
from qnnbuild.text.amounts import duration


class Cancelled(QnnbuildError):
    """The user stopped the build; nothing is wrong with the action."""

    exit_code = 130


class OutOfTime(Cancelled):
    """The time for the whole build is over; nothing is wrong with the action that is not made."""

    exit_code = 7


class NoRoom(StoreError):
    """The disk has too little room for what the build is going to write."""


OF_THE_BUILD = (OutOfTime, NoRoom)
"""They stop all actions alike, and are told once."""


class BuildTime:
    """The time from the begin of a build to its deadline, and to the end of its grace."""

    def __init__(
        self,
        deadline_s: float | None = None,
        grace_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.deadline_s = deadline_s
        self.grace_s = grace_s
        self.clock = clock
        self.began = clock()

    def check(self) -> None:
        """Raises OutOfTime when nothing more may start."""
        if self.deadline_s is not None and self.clock() - self.began >= self.deadline_s:
            raise self.over()

    def left_s(self) -> float | None:
        """Seconds until nothing more may start; below 0 when that has come."""
        if self.deadline_s is None:
            return None
        return self.began + self.deadline_s - self.clock()

    def cut(self, seconds: float) -> float:
        """So many seconds, or as many as are left of the grace."""
        if self.deadline_s is None:
            return seconds
        left = self.began + self.deadline_s + self.grace_s - self.clock()
        return max(0.0, min(seconds, left))

    @property
    def grace_is_over(self) -> bool:
        return self.cut(1.0) == 0.0

    def stopped(self, name: str) -> Problem:
        """That an action which ran had to end with the grace."""
        message = f"{name} was stopped: {duration(self.grace_s)} after the build's deadline"
        return Problem(message=message, severity="warning")

    def over(self) -> OutOfTime:
        assert self.deadline_s is not None
        return OutOfTime(
            f"the build's deadline of {duration(self.deadline_s)} is over: nothing more starts",
            hint="what was made is kept, and the same command goes on from there; "
            "`limits: {deadline: …}` or QNNBUILD_DEADLINE gives it more",
        )
