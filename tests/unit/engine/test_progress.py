"""What a build says: counts, one summary, plain lines."""

from __future__ import annotations

import io
import time

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine import progress as progress_module
from qnnbuild.engine.progress import Progress, duration, is_terminal
from qnnbuild.engine.state import How, Outcome


def outcome(name: str, how: How = "made", *warnings: str, saved_s: float = 0.0) -> Outcome:
    record = Record(key="0", name=name, step="x", parts={}, outputs={}, warnings=warnings)
    return Outcome(name=name, how=how, record=record, seconds=2.0, saved_s=saved_s)


class Told(Progress):
    def __init__(self, **more: float) -> None:
        self.text = io.StringIO()
        super().__init__(self.text, **more)  # type: ignore[arg-type]

    def run(self, name: str, how: How = "made", *warnings: str) -> None:
        self.started(name)
        self.ended(outcome(name, how, *warnings))

    def last_line(self, *, stopped: bool = False) -> str:
        return self.summary(stopped=stopped).partition("; took")[0]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
        (3599.9, "1 h 0 min"),
        (18_720, "5 h 12 min"),
        (7_200_000, "2,000 h 0 min"),
    ],
)
def test_durations_are_told_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_build_of_nothing_tells_what_it_saved() -> None:
    told = Told(before=20_000, saved_s=18_720, began=time.monotonic())

    assert told.summary() == "nothing to do: reused 20,000; took 0.0 s, saved 5 h 12 min\n"


def test_without_recipes_there_is_nothing_to_build() -> None:
    assert Told().last_line() == "nothing to build"


def test_the_summary_counts_everything_in_one_order() -> None:
    told = Told(before=2)
    told.expect(9)
    for name, how in (("a", "cut off"), ("b", "made"), ("c", "restored"), ("d", "reused")):
        told.run(name, how)  # type: ignore[arg-type]
    told.reused(3.0)
    told.failed("e", "error: no\n")
    told.unmet()

    assert told.last_line() == ("made 1, restored 1, reused 4, cut off 1, failed 1, not built 3")


def test_what_was_not_reached_after_a_stop_is_not_built() -> None:
    told = Told()
    told.expect(5)
    told.run("a")

    assert told.last_line(stopped=True) == "stopped: made 1, not built 4"


def test_plain_output_is_a_line_for_each_that_ran_with_its_warnings() -> None:
    told = Told()
    told.run("a", "made", "r.yaml:1:2: constants were folded")
    told.run("b", "cut off")
    told.reused(1.0)
    told.started("c")
    told.failed("c", "error: it went wrong\n")
    told.close()

    assert told.text.getvalue() == (
        "made a (2.0 s)\n"
        "  warning: r.yaml:1:2: constants were folded\n"
        "cut off b (2.0 s)\n"
        "failed c\n"
        "error: it went wrong\n"
    )


def test_nothing_is_said_before_something_runs() -> None:
    told = Told()
    told.reused(1.0)
    told.close()

    assert told.text.getvalue() == ""


def test_a_sign_of_life_comes_while_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "STILL_RUNNING_S", 0.05)
    told = Told()
    told.started("a")
    end = time.monotonic() + 5
    while not told.text.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    told.close()

    assert told.text.getvalue().startswith("still running: a (0.")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_a_log_is_no_terminal(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    before = is_terminal(Terminal())
    monkeypatch.setenv(name, value)

    assert (before, is_terminal(Terminal())) == (True, False)
