"""What a build says: counts, one summary, plain lines."""

from __future__ import annotations

import io
import threading
import time

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine.outlook import Outlook, Rest
from qnnbuild.engine.plain_view import PlainView
from qnnbuild.engine.progress import Progress, is_terminal
from qnnbuild.engine.state import How, Outcome
from qnnbuild.engine.status import Going, Status
from qnnbuild.errors import StoreError


def outcome(name: str, how: How = "made", *warnings: str, saved_s: float = 0.0) -> Outcome:
    record = Record(key="0", name=name, step="x", parts={}, outputs={}, warnings=warnings)
    return Outcome(name=name, how=how, record=record, seconds=2.0, saved_s=saved_s)


class Told(Progress):
    def __init__(self, **more: float) -> None:
        self.text = io.StringIO()
        super().__init__(self.text, **more)  # type: ignore[arg-type]

    def run(self, name: str, how: How = "made", *warnings: str) -> None:
        self.open()
        self.started(name)
        self.ended(outcome(name, how, *warnings))

    def last_line(self, *, stopped: bool = False) -> str:
        return self.summary(stopped=stopped).partition("; took")[0]


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
    told.reused("x", 3.0)
    told.failed("e", "error: no\n")
    told.unmet("y")

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
    told.reused("x", 1.0)
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
    told.reused("x", 1.0)
    told.close()

    assert told.text.getvalue() == ""


def test_a_log_is_told_every_so_often_how_it_stands() -> None:
    told = Told()
    told.expect(3)
    told.started("a")
    asked: list[float] = []
    second = threading.Event()

    def pause(spent_s: float) -> float:
        asked.append(spent_s)
        if len(asked) == 2:
            second.set()
        return 0.0 if len(asked) == 1 else 60.0

    view = PlainView(told.text, told.status, lambda: 7.0, pause)
    second.wait(60)
    view.close()
    told.close()

    assert asked == [7.0, 7.0]
    assert told.text.getvalue().startswith("0 of 3 done; running a (")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timed() -> Timed:
    return Timed()


class Timed(Progress):
    """On a clock that is moved by hand; b stands on a, and both ran before."""

    def __init__(self) -> None:
        self.hands = Clock()
        super().__init__(io.StringIO(), before=5, clock=self.hands)
        self.expect(4, 2)
        needs = {"a": (), "b": ("a",), "c": (), "new": ()}
        self.foresee = lambda _: Outlook(needs, {"a": 10.0, "b": 20.0, "c": 5.0})

    def looked(self) -> Status:
        """What a view would show that has looked ahead."""
        return self._looked()


def test_the_lowest_worker_that_is_free_takes_the_next(timed: Timed) -> None:
    workers = [timed.started("a"), timed.started("c")]
    timed.left("a")

    assert [*workers, timed.started("b")] == [1, 2, 1]


def test_what_runs_is_shown_with_its_last_time_and_what_comes_next(timed: Timed) -> None:
    timed.started("a")
    timed.runs("a")
    timed.hands.now += 4
    status = timed.looked()
    timed.close()

    assert (status.done, status.total, status.seconds) == (5, 9, 4.0)
    assert status.going == (Going(name="a", worker=1, spent_s=4.0, expected_s=10.0, ran=True),)
    assert status.then == (("b", ("a",)),)
    assert status.rest == Rest(seconds=26.0, never=1)


def test_while_some_wait_for_memory_no_more_are_expected_to_run_at_once(timed: Timed) -> None:
    timed.started("a")
    timed.runs("a")
    timed.started("c")
    timed.waits("c", "memory")
    status = timed.looked()
    timed.close()

    assert [one.waits_for for one in status.going] == ["", "memory"]
    assert status.rest == Rest(seconds=35.0, never=1)


def test_what_waited_has_run_since_it_was_let_in(timed: Timed) -> None:
    timed.started("a")
    news = [timed.waits("a", "memory"), timed.waits("a", "memory")]
    timed.hands.now += 30
    news += [timed.runs("a"), timed.runs("a")]
    timed.hands.now += 2
    (going,) = timed.status().going
    timed.left("a")
    timed.close()

    assert news == [True, False, True, False]
    assert (going.spent_s, going.waits_for) == (2.0, "")
    assert timed.spent["a"].spent_s == 2.0


def test_what_ended_before_anybody_looked_is_not_left(timed: Timed) -> None:
    timed.started("a")
    timed.left("a")
    timed.ended(outcome("a"))
    rest = timed.looked().rest
    timed.close()

    assert rest == Rest(seconds=20.0, never=1)


def test_without_a_look_ahead_nothing_is_said_of_the_rest(timed: Timed) -> None:
    timed.started("a")
    status = timed.status()
    timed.close()

    assert (status.rest, status.then, status.going[0].expected_s) == (None, (), None)


def test_an_error_while_looking_ahead_is_told_where_it_is_in_the_way(timed: Timed) -> None:
    def foresee(_: object) -> Outlook:
        raise StoreError("the disk is gone")

    timed.foresee = foresee

    assert timed.looked().rest is None


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
