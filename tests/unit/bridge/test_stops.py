"""A stop comes through, whatever the main thread is doing."""

from __future__ import annotations

import os
import signal
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
    with stops(lambda: build) as caught:
        signal.raise_signal(signal.SIGTERM)

    assert build.cancelled.is_set()
    assert caught == [signal.SIGTERM]


def test_a_signal_whose_handler_does_not_come_cancels_all_the_same():
    """What the interpreter does at once, without what it does when the main thread goes on."""
    build = Build()
    with stops(lambda: build):
        pipe = signal.set_wakeup_fd(-1)
        os.write(pipe, bytes([signal.SIGHUP]))
        signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
        came = build.cancelled.wait(PATIENCE_S)

    assert came


def test_a_second_signal_ends_doit():
    with stops(Build) as caught:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)

    assert caught == [signal.SIGINT, signal.SIGTERM]


def test_a_signal_before_there_is_a_build_ends_doit():
    with stops(lambda: None) as caught, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

    assert caught == [signal.SIGINT]


def test_afterwards_signals_are_as_they_were():
    before = [signal.getsignal(number) for number in STOPS]
    with stops(lambda: None):
        pass

    assert [signal.getsignal(number) for number in STOPS] == before
    assert signal.set_wakeup_fd(-1) == -1
