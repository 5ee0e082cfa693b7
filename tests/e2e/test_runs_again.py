"""Runs that end for want of memory or of time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.engine.build_time import BuildTime, OutOfTime
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import Problem, ToolError
from tests.e2e.processes import alive

KEY = "ab" + "0" * 62


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    shared = Workers(path=sys.path)
    yield shared
    shared.close()


@pytest.fixture
def told() -> list[Problem]:
    return []


@pytest.fixture
def runner(tmp_path: Path, workers: Workers, told: list[Problem]) -> Runner:
    turns = Turns(server=lambda: workers.pid, tell=told.append)
    return Runner(Store(tmp_path / "store", Stats()), workers, {}, turns)


def action(function: str, **params: object) -> Action:
    return Action(
        name="context/m/g@SM8750", step="context", call=f"tests.e2e.misbehaving:{function}",
        outputs=("o",), params=params, deadline_s=60.0,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_run_that_was_killed_runs_once_more_alone_and_says_so(
    runner: Runner, told: list[Problem], tmp_path: Path
) -> None:
    made = runner.run(action("is_killed", count=str(tmp_path / "n"), times=1), KEY, {})

    assert list(made.outputs) == ["o"]
    name = "context/m/g@SM8750"
    killed = "was ended, as the kernel does where memory ends: it runs once more, alone"
    assert [problem.message for problem in told] == [f"{name} {killed}"]
    assert [name for name, _ in told[0].facts] == ["it used at most", "memory", "available"]


def test_a_run_that_is_killed_again_is_an_error_with_figures(
    runner: Runner, tmp_path: Path
) -> None:
    count = tmp_path / "n"
    with pytest.raises(ToolError, match="was ended by signal 9") as caught:
        runner.run(action("is_killed", count=str(count), times=9), KEY, {})

    facts = dict(caught.value.problems[0].facts)
    assert count.read_text() == "xx"
    assert {"it used at most", "memory", "available", "log"} <= facts.keys()
    assert facts["it used at most"].endswith("MB")
    assert caught.value.problems[0].hint == (
        "it was alone, so no other action can make room for it: end other programs, give the "
        "container more, or build it on a machine with more memory"
    )


def test_a_run_that_is_stopped_for_others_runs_again(runner: Runner, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    thread = threading.Thread(target=_stop_when_there, args=(runner, pids))
    thread.start()
    made = runner.run(action("hangs_the_first_time", pids=str(pids)), KEY, {})
    thread.join()

    assert list(made.outputs) == ["o"]
    assert [alive(int(pid)) for pid in pids.read_text().split()] == [False, False]


def _stop_when_there(runner: Runner, pids: Path) -> None:
    while not (pids.exists() and pids.read_text()):
        threading.Event().wait(0.02)
    runner.turns.admission.running[0].going.stop()


def test_what_runs_at_the_end_of_the_grace_is_stopped_and_is_no_failure(
    tmp_path: Path, workers: Workers, told: list[Problem]
) -> None:
    times = iter([0.0, 99.0, 99.0])  # the begin, may it start, how long may it take
    build_time = BuildTime(100.0, 1.0, clock=lambda: next(times, 200.0))
    turns = Turns(build_time=build_time, server=lambda: workers.pid, tell=told.append)
    runner = Runner(Store(tmp_path / "store", Stats()), workers, {}, turns)
    with pytest.raises(OutOfTime, match="the build's deadline of 1 min 40 s is over"):
        runner.run(action("hangs_with_a_child", pids=str(tmp_path / "pids")), KEY, {})

    assert [problem.message for problem in told] == [
        "context/m/g@SM8750 was stopped: 1.0 s after the build's deadline"
    ]
    assert list((tmp_path / "store" / "tmp").iterdir()) == []


def test_what_runs_at_the_deadline_comes_to_its_end_within_the_grace(
    tmp_path: Path, workers: Workers
) -> None:
    times = iter([0.0, 99.0, 120.0, 120.0])
    build_time = BuildTime(100.0, 50.0, clock=lambda: next(times))
    turns = Turns(build_time=build_time, server=lambda: workers.pid)
    runner = Runner(Store(tmp_path / "store", Stats()), workers, {}, turns)
    made = runner.run(action("well"), KEY, {})

    assert list(made.outputs) == ["o"]
    with pytest.raises(OutOfTime):
        runner.run(action("well"), KEY, {})


def test_a_build_of_nothing_imports_none_of_it() -> None:
    wanted = "{'qnnbuild.engine.' + n for n in ('admission', 'memory', 'neighbours')}"
    code = f"import sys, qnnbuild.session; print(sorted({wanted} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
