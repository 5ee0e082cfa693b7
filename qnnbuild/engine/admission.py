"""Who may start now: as many actions at once as memory lasts for, in the order in which they came.

An action takes a turn before its child starts. What it will want is known from its last run
(`appetite`); what there is, from the kernel (`memory`); what other builds of this machine have
promised their actions, from `neighbours`. An action that is alone starts in any case, so nothing
waits for ever. While actions run somebody looks after the memory: when it nearly ends all the
same, the youngest action is stopped and takes another turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from qnnbuild.engine.memory import Memory, Meter, used_by
from qnnbuild.engine.neighbours import Neighbours, Told
from qnnbuild.engine.workers import Going
from qnnbuild.errors import Problem
from qnnbuild.model.limits import Limits
from qnnbuild.text.amounts import told_size

MB = 1_000_000
PAUSE_S = 0.1
"""How often whoever waits looks again; memory comes and goes without a word."""

WATCH_S = 0.5
LOW_LOOKS = 2
"""So many looks in a row must be bad: a peak that is over does no harm."""

STALLED = 25.0
"""Percent of the time in which everything waits for memory: the machine is swapping itself dead."""

GROWTH = 1.5
MOST_STOPS = 2
"""What was stopped so often for want of memory runs alone then."""


@dataclass
class Turn:
    """One action's place in the queue, and what is known of it while it runs."""

    name: str
    wants: int  # bytes of memory
    alone: bool = False
    going: Going = field(default_factory=Going)
    since: float = 0.0  # when it was let in
    kills: int = 0  # of the kernel, for want of memory, until then
    stops: int = 0

    def again(self, *, alone: bool = False) -> None:
        """It was stopped: the next time it comes first and asks for more."""
        self.stops += 1
        self.wants = int(self.wants * GROWTH)
        self.alone = alone or self.stops >= MOST_STOPS
        self.going = Going()


def floor_of(memory: Memory) -> int:
    """Bytes that stay free: below them the youngest action goes; twice of them, and one comes."""
    return min(max(memory.total * 3 // 100, 64 * MB), 1000 * MB)


class Admission:
    """Safe between threads. `server` gives the process whose children do the work of this build."""

    def __init__(
        self,
        limits: Limits,
        *,
        server: Callable[[], int] = lambda: 0,
        tell: Callable[[Problem], None] = lambda _: None,
        meter: Meter | None = None,
        used: Callable[[int], int] = used_by,
        neighbours: Neighbours | None = None,
        clock: Callable[[], float] = time.monotonic,
        looks_by_itself: bool = True,
    ) -> None:
        self.looks_by_itself = looks_by_itself and limits.watches_memory
        self.limits = limits
        self.server = server
        self.tell = tell
        self.meter = meter or Meter()
        self.used = used
        self.neighbours = neighbours or Neighbours()
        self.clock = clock
        self.running: list[Turn] = []  # the eldest first
        self._queue: list[Turn] = []
        self._untold: list[Problem] = []
        self._changed = threading.Condition()
        self._watcher: threading.Thread | None = None
        self._low_looks = 0
        self._has_told = False
        self._has_warned: set[str] = set()

    @contextmanager
    def admitted(
        self,
        turn: Turn,
        stop_here: Callable[[], None],
        waits: Callable[[], None] = lambda: None,
    ) -> Iterator[Turn]:
        """Wait until there is memory for `turn`, and hold it for the block.

        `stop_here` is called again and again until it is let in, and may raise; so is `waits`
        once it has to wait.
        """
        self._wait(turn, stop_here, waits)
        try:
            self._tell()
            yield turn
        finally:
            with self._changed:
                self.running.remove(turn)
                self._say_to_neighbours()
                self._changed.notify_all()

    def _wait(self, turn: Turn, stop_here: Callable[[], None], waits: Callable[[], None]) -> None:
        with self._changed:
            # what was stopped goes first again: it is older than all that wait
            self._queue.insert(0 if turn.stops else len(self._queue), turn)
        try:
            stop_here()
            while not self._is_in(turn):
                self._tell()
                waits()
                with self._changed:
                    self._changed.wait(PAUSE_S)
                stop_here()
        finally:
            with self._changed:
                self._queue.remove(turn)
                self._changed.notify_all()

    def _is_in(self, turn: Turn) -> bool:
        with self._changed:
            return self._queue[0] is turn and self._let_in(turn)

    def _let_in(self, turn: Turn) -> bool:
        """Decided under a lock of the whole machine: no two builds count the same memory."""
        with self.neighbours.deciding():
            memory = self.meter.read()
            others = self.neighbours.others() if self.limits.watches_memory else []
            if not self._fits(turn, memory, others):
                self._tell_of_waiting(turn, memory)
                return False
            turn.since, turn.kills = self.clock(), self.meter.kills()
            self.running.append(turn)
            self._say_to_neighbours()
        self._warn_of_too_large(turn, memory)
        self._start_watching()
        return True

    def _fits(self, turn: Turn, memory: Memory, others: list[Told]) -> bool:
        if any(one.alone for one in self.running) or (turn.alone and self.running):
            return False
        if not self.limits.watches_memory or not memory.total:
            return True
        if not self.running and not any(told.running for told in others):
            return True
        used = self.used(self.server()) if self.running else 0
        promised = sum(one.wants for one in self.running)
        cap = self.limits.memory
        if self.running and cap is not None and max(used, promised) + turn.wants > cap:
            return False
        to_come = max(0, promised - used) + sum(self._to_come(told) for told in others)
        return turn.wants + to_come <= memory.available - 2 * floor_of(memory)

    def _to_come(self, told: Told) -> int:
        return max(0, told.promised - self.used(told.server))

    def _say_to_neighbours(self) -> None:
        if not self.limits.watches_memory:
            return
        self.neighbours.say(
            Told(
                server=self.server(),
                promised=sum(turn.wants for turn in self.running),
                running=len(self.running),
                youngest=max((turn.since for turn in self.running), default=0.0),
            )
        )

    # --- words --------------------------------------------------------------------------------

    def _tell(self) -> None:
        """What is to be told, without the lock: who reads it may be slow, or gone."""
        with self._changed:
            untold, self._untold = self._untold, []
        for problem in untold:
            with suppress(OSError, ValueError):  # stderr is closed: there is nobody to tell
                self.tell(problem)

    def _tell_of_waiting(self, turn: Turn, memory: Memory) -> None:
        if self._has_told or turn.alone:
            return
        self._has_told = True
        self._untold.append(
            Problem(
                message="fewer actions run at once than could: there is no memory for more",
                facts=(
                    (turn.name, f"may want {told_size(turn.wants)}"),
                    *(self.facts(memory)),
                ),
                severity="warning",
            )
        )

    def _warn_of_too_large(self, turn: Turn, memory: Memory) -> None:
        most = self.most(memory)
        step = turn.name.partition("/")[0]
        large = self.limits.watches_memory and most and turn.wants > most
        if not large or step in self._has_warned:
            return
        self._has_warned.add(step)  # a narrow limit would make it a line for each of hundreds
        self._untold.append(
            Problem(
                message=f"{turn.name} may want more memory than there is; it runs alone",
                facts=(("may want", told_size(turn.wants)), *self.facts(memory)),
                severity="warning",
            )
        )

    def most(self, memory: Memory) -> int:
        """What all actions together may have at most."""
        cap = self.limits.memory
        return memory.total if cap is None else min(cap, memory.total or cap)

    def facts(self, memory: Memory | None = None) -> tuple[tuple[str, str], ...]:
        """What there is, for people."""
        memory = memory or self.meter.read()
        limit = "" if self.limits.memory is None else f", limits: {told_size(self.limits.memory)}"
        there = f"{told_size(memory.total)} of {memory.limited_by}{limit}"
        return ("memory", there), ("available", told_size(memory.available))

    # --- looking after the memory while actions run -------------------------------------------

    def _start_watching(self) -> None:
        if self._watcher is None and self.looks_by_itself:
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self.running)
                self._changed.wait(WATCH_S)
            self.look()

    def look(self) -> None:
        """Tell the neighbours that this build lives; stop an action when memory nearly ends."""
        with self._changed:
            self._look()
        self._tell()

    def _look(self) -> None:
        if not self.running:
            return
        self._say_to_neighbours()
        memory = self.meter.read()
        self._low_looks = self._low_looks + 1 if self._is_low(memory) else 0
        if self._low_looks < LOW_LOOKS or not self._has_the_youngest():
            return
        self._low_looks = -LOW_LOOKS  # what one gave back is not seen at once
        turn = self.running[-1]
        used = self.used(turn.going.pid) if turn.going.pid else 0
        facts = (("it used", told_size(used)), *self.facts(memory))
        turn.going.stop()
        turn.wants = max(turn.wants, used)
        self._untold.append(
            Problem(
                message=f"memory nearly ended: {turn.name} was stopped and runs again later",
                facts=facts,
                severity="warning",
            )
        )

    def _is_low(self, memory: Memory) -> bool:
        floor = floor_of(memory)
        swaps = memory.stalled >= STALLED and memory.available < 4 * floor
        over = self.limits.memory is not None and self.used(self.server()) > self.limits.memory
        return bool(memory.total) and (memory.available < floor or swaps or over)

    def _has_the_youngest(self) -> bool:
        """Whether it is ours to stop one: what runs alone on the machine gains nothing by it."""
        if self.running[-1].going.was_stopped:
            return False
        others = [told for told in self.neighbours.others() if told.running]
        mine = self.running[-1].since
        return len(self.running) + len(others) > 1 and all(t.youngest <= mine for t in others)
