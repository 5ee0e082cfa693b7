"""Signals that ask a build to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Protocol

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOST = 64  # bytes of a pipe that are read at once, one for each signal


class Stoppable(Protocol):
    """Its `cancel` takes no lock and may be called twice."""

    def cancel(self) -> None: ...


class Stops:
    """What was caught. The first signal cancels the build that is watched, a second one ends doit.

    As long as there is none to be cancelled, the first ends doit, too.
    """

    def __init__(self, threads: ExitStack | None) -> None:
        self.caught: list[int] = []
        self._threads = threads  # None where no signal arrives
        self._build: Stoppable | None = None

    def watch(self, build: Stoppable) -> None:
        """Not before there is a build: the gate's look forks, and wants no thread beside it."""
        self._build = build
        if self._threads is not None:
            self._threads.enter_context(_watched(build))

    def stop(self, number: int, _: FrameType | None) -> None:
        self.caught.append(number)
        if self._build is None or len(self.caught) > 1:
            raise KeyboardInterrupt
        self._build.cancel()


@contextmanager
def stops() -> Iterator[Stops]:
    if threading.current_thread() is not threading.main_thread():
        yield Stops(None)
        return
    with ExitStack() as threads:
        stopping = Stops(threads)
        before = {number: signal.getsignal(number) for number in STOPS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # nohup
                signal.signal(number, stopping.stop)
        try:
            yield stopping
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _watched(build: Stoppable) -> Iterator[None]:
    """Cancel from a thread of its own as well, which a signal always wakes.

    Python runs handlers in the main thread, and that one may be about to wait for a lock: a signal
    that comes just before the kernel's wait is left until the wait is over. The interpreter writes
    the signal's number into the pipe at once.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)

    def watch() -> None:
        while numbers := os.read(read, MOST):
            if not set(STOPS).isdisjoint(numbers):
                build.cancel()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    woken = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        os.close(write)
        thread.join()
        os.close(read)
