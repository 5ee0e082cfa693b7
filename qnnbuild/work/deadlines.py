"""A deadline inside of an action, for work whose being late is a result."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

AGAIN_S = 0.25


class Late(BaseException):
    """The time is over. No Exception: what the work catches on its way must not take it for one."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `Late` in the main thread when the block takes longer.

    Waiting for another process is interrupted; that process is left to whoever ends the action.
    """

    def ring(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    # again and again: Python drops what is raised in a finaliser or beside a fork
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
