"""What a build says while it runs: live bars on a terminal, plain lines anywhere else."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from qnnbuild.engine.status import Going, Status
from qnnbuild.errors import QnnbuildError
from qnnbuild.text.amounts import duration, told_end

if TYPE_CHECKING:
    from qnnbuild.engine.gate import Restored
    from qnnbuild.engine.outlook import Outlook, Rest
    from qnnbuild.engine.state import Outcome

THEN = 3
"""So many of those that start next are found out."""

DEAR = 20
"""The rest is estimated again after so many times what estimating it took."""


class View(Protocol):
    """How it is shown. All calls come under one lock."""

    def say(self, text: str) -> None: ...

    def close(self) -> None: ...


class Progress:
    """Counts what comes of each action; shows nothing before it is opened.

    `foresee` looks what is left to do when somebody wants to see it, in a thread of its own; it
    gives up and returns None when what it is given says so. Safe between threads; `started`,
    `left`, `waits` and `runs` come from those that make actions, and are quick.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        before: int = 0,
        saved_s: float = 0.0,
        began: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.out = out
        self.before = before  # actions that are known to be current
        self.total = 0  # actions that are looked at
        self.workers = 1
        self.foresee: Callable[[Callable[[], bool]], Outlook | None] = lambda _: None
        self.counts: Counter[str] = Counter(reused=before)
        self.saved_s = saved_s
        self.clock = clock
        self.began = clock() if began is None else began
        self.spent: dict[str, Going] = {}  # those that a worker has had, as it left them
        self._going: dict[str, _Run] = {}
        self._ended: set[str] = set()
        self._view: View | None = None
        self._outlook: Outlook | None = None
        self._foreseer: threading.Thread | None = None
        self._closed = threading.Event()
        self._rest: tuple[float, Rest | None] = (float("-inf"), None)  # until when it is good
        self._lock = threading.RLock()

    def expect(self, total: int, workers: int = 1) -> None:
        """How many actions will be looked at, and how many may run at once."""
        self.total = total
        self.workers = max(workers, 1)

    def open(self) -> None:
        """Something is going to run: show it from now on."""
        with self._lock:
            if self._view is None and not self._closed.is_set():
                self._view = self._opened()

    # --- from those that make actions ---------------------------------------------------------

    def started(self, name: str) -> int:
        """A worker has it; its number."""
        with self._lock:
            taken = {run.worker for run in self._going.values()}
            worker = next(n for n in range(1, len(taken) + 2) if n not in taken)
            self._going[name] = _Run(worker, self.clock())
            return worker

    def waits(self, name: str, what_for: str) -> bool:
        """Whether that is news."""
        with self._lock:
            run = self._going.get(name)
            if run is None or run.waits_for == what_for:
                return False
            run.waits_for, run.since = what_for, self.clock()
            return True

    def runs(self, name: str, where: str = "") -> bool:
        """Whether that is news."""
        with self._lock:
            run = self._going.get(name)
            if run is None or (run.ran and not run.waits_for and run.where == where):
                return False
            run.waits_for, run.where, run.ran, run.since = "", where, True, self.clock()
            return True

    def left(self, name: str) -> None:
        """Its worker is done with it, whatever came of it."""
        with self._lock:
            if name in self._going:
                self.spent[name] = self._told_of(name, self._going[name])
                del self._going[name]

    # --- what came of it ----------------------------------------------------------------------

    def ended(self, outcome: Outcome) -> None:
        with self._lock:
            self.counts[outcome.how] += 1
            self.saved_s += outcome.saved_s
            self._drop(outcome.name)
            if self._view is not None:
                took = duration(outcome.seconds)
                self._view.say(f"{outcome.how} {self._shown(outcome.name)} ({took})\n")
                if outcome.how != "reused":
                    for warning in outcome.record.warnings:
                        self._view.say(f"  warning: {' '.join(self._shown(warning).split())}\n")

    def restored(self, came: Sequence[Restored]) -> None:
        """Of those that are known to be current: they came back before the build began."""
        if came:
            self.counts["restored"] += len(came)
            self.counts["reused"] -= len(came)
            self.saved_s -= sum(one.seconds for one in came)

    def reused(self, name: str, saved_s: float, *, came_back: bool = False) -> None:
        """It was current; or is, because it came back before the build began."""
        with self._lock:
            self.counts["restored" if came_back else "reused"] += 1
            self.saved_s += 0.0 if came_back else saved_s
            self._drop(name)

    def failed(self, name: str, text: str) -> None:
        with self._lock:
            self.counts["failed"] += 1
            self._drop(name)
            if self._view is not None:
                self._view.say(f"failed {self._shown(name)}\n")
            self.say(text)

    def unmet(self, name: str) -> None:
        """It is not made because one that it needs failed, or the build is over."""
        with self._lock:
            self.counts["not built"] += 1
            self._drop(name)

    def say(self, text: str) -> None:
        """Something that is not about an action of ours."""
        with self._lock:
            if self._view is not None:
                self._view.say(text)
            else:
                self.out.write(text)

    # --- how it stands ------------------------------------------------------------------------

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    def status(self) -> Status:
        with self._lock:
            going = sorted(self._going.items(), key=lambda one: one[1].worker)
            told = tuple(self._told_of(name, run) for name, run in going)
            outlook = self._outlook
            return Status(
                done=self.done,
                total=max(self.total + self.before, self.done),
                told=self._told(),
                seconds=self.clock() - self.began,
                going=told,
                then=tuple(outlook.then(self._going, THEN)) if outlook is not None else (),
                rest=self._rest_now(outlook, told) if outlook is not None else None,
            )

    def look_ahead(self) -> None:
        """Have the rest of the build foreseen, by a thread of its own."""
        with self._lock:
            if self._foreseer is None and not self._closed.is_set():
                self._foreseer = threading.Thread(target=self._foresee, daemon=True)
                self._foreseer.start()

    def close(self) -> None:
        """End the live part; what is written from now on stays below it."""
        self._closed.set()
        if self._foreseer is not None:
            self._foreseer.join()  # what it asks may be closed next
        with self._lock:
            view, self._view = self._view, None
        # without the lock: the thread that draws may be about to ask how it stands
        if view is not None:
            view.close()

    def summary(self, *, stopped: bool = False) -> str:
        """What came of the build, as its last line."""
        left = self.before + self.total - self.done
        if left > 0 and (stopped or self.counts["failed"]):
            self.counts["not built"] += left
        told = self._told() or "nothing to build"
        if set(+self.counts) == {"reused"}:
            told = f"nothing to do: {told}"
        told = f"stopped: {told}" if stopped else told
        return told_end(told, self.clock() - self.began, self.saved_s)

    def _opened(self) -> View:
        if not is_terminal(self.out):
            from qnnbuild.engine.plain_view import PlainView

            return PlainView(self.out, self._looked, lambda: self.clock() - self.began)
        from qnnbuild.engine.live_view import LiveView

        self.look_ahead()
        return LiveView(self.out, self.status)

    def _looked(self) -> Status:
        """A log's first line may take a moment, and most builds have none."""
        self.look_ahead()
        if self._foreseer is not None:
            self._foreseer.join()
        return self.status()

    def _foresee(self) -> None:
        with suppress(QnnbuildError):  # whatever is wrong is told where it is in the way
            outlook = self.foresee(self._closed.is_set)
            with self._lock:
                if outlook is not None:
                    for name in self._ended:
                        outlook.drop(name)
                self._outlook = outlook

    def _drop(self, name: str) -> None:
        self._ended.add(name)
        if self._outlook is not None:
            self._outlook.drop(name)

    def _told(self) -> str:
        order = ("made", "fetched", "restored", "reused", "cut off", "failed", "not built")
        return ", ".join(f"{how} {self.counts[how]:,}" for how in order if self.counts[how])

    def _told_of(self, name: str, run: _Run) -> Going:
        return Going(
            name=name,
            worker=run.worker,
            spent_s=self.clock() - run.since,
            expected_s=self._outlook.seconds.get(name) if self._outlook is not None else None,
            waits_for=run.waits_for,
            where=run.where,
            ran=run.ran,
        )

    def _rest_now(self, outlook: Outlook, going: tuple[Going, ...]) -> Rest | None:
        """Estimated anew as often as it is worth it: twenty thousand actions take a moment."""
        now = self.clock()
        until, rest = self._rest
        if now >= until:
            began = time.perf_counter()
            running = {n: now - run.since for n, run in self._going.items() if not run.waits_for}
            # while some wait for memory, no more run at once than now
            queue = any(one.waits_for for one in going)
            rest = outlook.rest(running, len(running) if queue else self.workers)
            self._rest = (now + DEAR * (time.perf_counter() - began), rest)
        return rest

    def _shown(self, text: str) -> str:
        from qnnbuild.text.shown import shown

        return shown(text, os.environ)


class _Run:
    """What is known of an action that a worker has."""

    def __init__(self, worker: int, since: float) -> None:
        self.worker = worker
        self.since = since
        self.waits_for = ""
        self.where = ""
        self.ran = False  # its process began, if only once


def is_terminal(out: TextIO) -> bool:
    """Whether a line can be written over; a CI's log keeps every state of it."""
    return out.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
