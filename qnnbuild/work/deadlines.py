"""A deadline inside of an action, for work whose being late is a result."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

AGAIN_S, SOON_S = 0.25, 0.001

_forking: list[bool] = []
"""An entry for each fork that is going on."""


class Late(BaseException):
    """The time is over. No Exception: what the work catches on its way must not take it for one."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `Late` in the main thread when the block takes longer.

    Waiting for another process is interrupted; that process is left to whoever ends the action.
    """

    def ring(*_: object) -> None:
        if not _forking:
            raise Late
        signal.setitimer(signal.ITIMER_REAL, SOON_S, AGAIN_S)  # right after the fork

    _watch_forks()
    before = signal.signal(signal.SIGALRM, ring)
    # again and again: Python drops what is raised in a finaliser, and beside a fork nothing is
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        armed = True
        while armed:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
                armed = False
            except Late:  # it struck on the way; what it was for has ended
                continue


def fork() -> int:
    """`os.fork`, beside which no deadline strikes: for work that may stand in a `deadline`.

    Beside a fork Python calls functions that take locks, logging's and filelock's for two, and
    others that give them back, and drops what is raised in them: a lock would stay taken for ever.
    """
    _forking.append(True)
    try:
        return os.fork()
    finally:
        _forking.pop()


def _watch_forks() -> None:
    """The same for forks of others, as far as one can.

    Of what is registered the last comes first before a fork and last after it, so these are around
    all that is registered by now; and they are written in C: no signal is looked at within them.
    """
    os.register_at_fork(
        before=partial(_forking.append, True),
        after_in_parent=_forking.pop,
        after_in_child=_forking.pop,
    )
