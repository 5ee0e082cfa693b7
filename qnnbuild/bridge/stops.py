"""Signals that ask a build to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOST = 64  # bytes of a pipe that are read at once, one for each signal


class Stoppable(Protocol):
    """Its `cancel` takes no lock and may be called twice."""

    def cancel(self) -> None: ...


@contextmanager
def stops(build: Callable[[], Stoppable | None]) -> Iterator[list[int]]:
    """Gives the signals that were caught. The first cancels the build, a second one ends doit.

    `build` tells what is being built; None as long as there is nothing to be cancelled.
    """
    caught: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        caught.append(number)
        building = build()
        if building is None or len(caught) > 1:
            raise KeyboardInterrupt
        building.cancel()

    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = {number: signal.getsignal(number) for number in STOPS}
    with _watched(build):
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # nohup
                signal.signal(number, stop)
        try:
            yield caught
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _watched(build: Callable[[], Stoppable | None]) -> Iterator[None]:
    """Cancel from a thread of its own as well, which a signal always wakes.

    Python runs handlers in the main thread, and that one may be about to wait for a lock: a signal
    that comes just before the kernel's wait is left until the wait is over. The interpreter writes
    the signal's number into the pipe at once.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)

    def watch() -> None:
        while numbers := os.read(read, MOST):
            building = build()
            if building is not None and not set(STOPS).isdisjoint(numbers):
                building.cancel()

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
