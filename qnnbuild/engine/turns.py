"""Runs take turns: none starts without memory or after the build's time, and what ended for want
of memory takes another turn."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from qnnbuild.engine.build_time import BuildTime
from qnnbuild.engine.short import Short, Stopped
from qnnbuild.engine.watcher import MEMORY, Nobody, Watcher
from qnnbuild.engine.workers import Ended
from qnnbuild.errors import Problem, QnnbuildError
from qnnbuild.model.limits import Limits

if TYPE_CHECKING:
    from qnnbuild.actions.action import Action
    from qnnbuild.engine.admission import Admission, Turn
    from qnnbuild.engine.appetite import Appetite

T = TypeVar("T")

KILLED = re.compile(r"\bKilled\b|Signals\.SIGKILL")
"""How shells and Python tell that a child was ended; others may use the first word, too."""


def nowhere(_: Problem) -> None:
    """Tells nobody."""


class Turns:
    """What stands between a runner and its actions. Safe between threads."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        appetite: Appetite | None = None,
        build_time: BuildTime | None = None,
        server: Callable[[], int] = lambda: 0,
        tell: Callable[[Problem], None] = nowhere,
    ) -> None:
        self.limits = limits or Limits()
        self.appetite = appetite
        self.build_time = build_time or BuildTime()
        self.server = server
        self.tell = tell
        self.watcher: Watcher = Nobody()
        self._lock = threading.Lock()
        self._admission: Admission | None = None

    def run(
        self,
        action: Action,
        input_bytes: int,
        attempt: Callable[[Turn], T],
        stop_here: Callable[[], None],
    ) -> T:
        """What `attempt` gives, in a turn of its own and, if need be, in another one.

        `stop_here` is called again and again while it waits; it may raise.
        """
        from qnnbuild.engine.admission import Turn

        wants = self.appetite.bytes_of(action, input_bytes) if self.appetite else 0
        turn = Turn(action.name, wants)
        waits = partial(self.watcher.waits, action.name, MEMORY)
        while True:
            with self.admission.admitted(turn, stop_here, waits):
                self.watcher.runs(action.name)
                try:
                    return attempt(turn)
                except Stopped:
                    turn.again()
                except Short as short:
                    if turn.alone:
                        raise short.final(self.admission.facts()) from short.error
                    turn.wants = max(turn.wants, short.peak_bytes)
                    turn.again(alone=True)
                    self.tell(short.told(self.admission.facts()))

    @property
    def admission(self) -> Admission:
        """Made when the first action runs: a build of nothing has none."""
        from qnnbuild.engine.admission import Admission

        with self._lock:
            if self._admission is None:
                self._admission = Admission(self.limits, server=self.server, tell=self.tell)
            return self._admission

    def what_it_was(self, error: QnnbuildError, turn: Turn, ended: Ended) -> QnnbuildError:
        """The error of a run, or what stands behind it: memory, or the build's time."""
        if ended.late and self.build_time.grace_is_over:
            self.tell(self.build_time.stopped(turn.name))
            return self.build_time.over()
        if ended.late:
            return error
        by_signal = ended.signal == signal.SIGKILL
        if by_signal and turn.going.was_stopped:
            return Stopped(f"{turn.name} was stopped for want of memory")
        kills = self.admission.meter.kills() - turn.kills
        # what a child of it died of, it tells in its own words: the kernel's count alone may be
        # of anything else that runs on the machine
        words = _words(error)
        if by_signal or "(SIGKILL)" in words or (kills > 0 and KILLED.search(words)):
            return Short(turn.name, error, ended.peak_bytes, kills)
        return error


def _words(error: QnnbuildError) -> str:
    told = [one for p in error.problems for one in (p.message, *(fact for _, fact in p.facts))]
    return "\n".join(told)
