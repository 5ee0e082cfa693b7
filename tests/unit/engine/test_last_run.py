"""When each action ran is remembered in the checkout, beside the records and in no key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine.build_time import Cancelled, OutOfTime
from qnnbuild.engine.last_run import RunLog, last_run, path_of
from qnnbuild.engine.state import Outcome
from qnnbuild.errors import QnnbuildError, ToolError
from qnnbuild.report.standing import Ran

RECORD = Record(key="k", name="a", step="s", parts={}, outputs={})


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float, outcome: Outcome) -> Callable[[], Outcome]:
        def work() -> Outcome:
            self.now += seconds
            return outcome

        return work


def made(name: str, seconds: float, worker: str = "") -> Outcome:
    return Outcome(name=name, how="made", record=RECORD, seconds=seconds, worker=worker)


def failing(error: QnnbuildError) -> Callable[[], Outcome]:
    def work() -> Outcome:
        raise error

    return work


def test_times_count_from_the_first_action_and_know_what_was_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    log = RunLog(tmp_path, clock)
    clock.now += 50  # the plan is made
    log.make("a", clock.takes(3.0, made("a", 3.0)))
    log.make("b", clock.takes(5.0, made("b", 2.0, worker="w1")))
    log.finish()
    run = last_run(tmp_path)

    assert run is not None
    assert run.seconds == 8.0
    assert run.actions == {
        "a": Ran(how="made", began=0.0, ended=3.0, seconds=3.0),
        "b": Ran(how="made", began=3.0, ended=8.0, seconds=2.0, worker="w1"),
    }


def test_what_failed_is_told_and_still_fails(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    with pytest.raises(ToolError):
        log.make("a", failing(ToolError("it stopped")))
    log.finish()
    run = last_run(tmp_path)

    assert run is not None
    assert run.actions["a"].how == "failed"


@pytest.mark.parametrize("error", [Cancelled("stopped"), OutOfTime("over")])
def test_what_was_stopped_did_not_run(error: QnnbuildError, tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    with pytest.raises(type(error)):
        log.make("a", failing(error))
    log.finish()

    assert last_run(tmp_path) is None


def test_a_build_of_nothing_leaves_the_last_one_as_it_is(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.make("a", lambda: made("a", 1.0))
    log.finish()
    before = path_of(tmp_path).read_bytes()
    RunLog(tmp_path).finish()

    assert path_of(tmp_path).read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"form": 2}', '{"form": 1, "actions": {"a": {"how": 1}}}', "[" * 9999]
)
def test_what_cannot_be_read_is_nothing(text: str, tmp_path: Path) -> None:
    path = path_of(tmp_path)
    path.parent.mkdir()
    path.write_text(text)

    assert last_run(tmp_path) is None


def test_the_file_says_which_form_it_has(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.make("a", lambda: made("a", 0.0))
    log.finish()

    assert json.loads(path_of(tmp_path).read_text())["form"] == 1
