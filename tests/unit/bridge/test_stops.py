"""A stop comes through, whatever the main thread is doing."""

from __future__ import annotations

import os
import signal
import threading
from threading import Event

import pytest

from qnnbuild.bridge.stops import STOPS, stops

PATIENCE_S = 60


class Build:
    def __init__(self) -> None:
        self.cancelled = Event()

    def cancel(self) -> None:
        self.cancelled.set()


def test_a_signal_cancels_the_build_and_is_told():
    build = Build()
    with stops() as stopping:
        stopping.watch(build)
        signal.raise_signal(signal.SIGTERM)

    assert build.cancelled.is_set()
    assert stopping.caught == [signal.SIGTERM]


def test_a_signal_whose_handler_does_not_come_cancels_all_the_same():
    """What the interpreter does at once, without what it does when the main thread goes on."""
    build = Build()
    with stops() as stopping:
        stopping.watch(build)
        pipe = signal.set_wakeup_fd(-1)
        os.write(pipe, bytes([signal.SIGHUP]))
        signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
        came = build.cancelled.wait(PATIENCE_S)

    assert came


def test_a_second_signal_ends_doit():
    with stops() as stopping:
        stopping.watch(Build())
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)

    assert stopping.caught == [signal.SIGINT, signal.SIGTERM]


def test_a_signal_before_there_is_a_build_ends_doit():
    with stops() as stopping, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

    assert stopping.caught == [signal.SIGINT]


def test_before_there_is_a_build_there_is_no_thread_for_it():
    """The gate's look forks, and does not where a thread may hold a lock."""
    before = threading.active_count()
    with stops() as stopping:
        without = threading.active_count()
        stopping.watch(Build())
        watched = threading.active_count()

    assert (without, watched) == (before, before + 1)


def test_afterwards_signals_are_as_they_were():
    before = [signal.getsignal(number) for number in STOPS]
    with stops() as stopping:
        stopping.watch(Build())

    assert [signal.getsignal(number) for number in STOPS] == before
    assert signal.set_wakeup_fd(-1) == -1
