"""What a build says where lines cannot be written over: in a CI's log, in a pipe, in a file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TextIO

from qnnbuild.engine.status import Status, told_rest
from qnnbuild.text.shown import shown

FIRST_S = 30.0
MOST_S = 300.0  # CI services take a build for dead that says nothing for ten minutes
PART = 0.05
NAMED = 4
"""So many of those that run are named."""


def pause(spent_s: float) -> float:
    """Seconds until the next line: a night's log is not to be full of them."""
    return min(max(FIRST_S, spent_s * PART), MOST_S)


class PlainView:
    """A line for each action that ran, and every so often one of how the whole stands."""

    def __init__(
        self,
        out: TextIO,
        status: Callable[[], Status],
        spent: Callable[[], float],
        pause: Callable[[float], float] = pause,
    ) -> None:
        self._out = out
        self._status = status
        self._spent = spent
        self._pause = pause
        self._closed = threading.Event()
        threading.Thread(target=self._tell, daemon=True, name="qnnbuild-progress").start()

    def say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    def close(self) -> None:
        self._closed.set()

    def _tell(self) -> None:
        while not self._closed.wait(self._pause(self._spent())):
            line = told_status(self._status())
            if line and not self._closed.is_set():
                try:
                    self.say(shown(line, os.environ))
                except (OSError, ValueError):  # who writes next hears of it, and where it can act
                    return


def told_status(status: Status) -> str:
    """One line; empty where nothing runs."""
    if not status.going:
        return ""
    running = [one for one in status.going if not one.waits_for]
    waiting = [one for one in status.going if one.waits_for]
    parts = [f"{status.done:,} of {status.total:,} done"]
    if rest := told_rest(status.rest):
        parts.append(rest)
    if running:
        parts.append(f"running {_named([f'{one.name} ({one.told()})' for one in running])}")
    for what_for in dict.fromkeys(one.waits_for for one in waiting):
        names = [one.name for one in waiting if one.waits_for == what_for]
        parts.append(f"waiting for {what_for}: {_named(names)}")
    return "; ".join(parts) + "\n"


def _named(told: list[str]) -> str:
    more = f" and {len(told) - NAMED:,} more" if len(told) > NAMED else ""
    return ", ".join(told[:NAMED]) + more
