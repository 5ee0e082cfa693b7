"""The server's processes die, are stopped and are forbidden things; and all goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import Ended, Lost, Workers
from tests.e2e import forbidding
from tests.e2e.processes import alive, children

REPO = Path(__file__).resolve().parents[2]
KEY = "ab" + "0" * 62
PRESS = "python"  # what it calls itself


def runner_of(folder: Path, workers: Workers) -> Runner:
    return Runner(Store(folder / "store", Stats()), workers, os.environ)


def doing(function: str, pids: Path) -> Action:
    return Action(
        name="context/m/g@SM8750",
        step="context",
        call=f"tests.e2e.misbehaving:{function}",
        params={"pids": str(pids)},
        outputs=("o",),
        deadline_s=120.0,
    )


def text_of(runner: Runner, action: Action) -> str:
    ((digest, _),) = runner.run(action, KEY, {}).outputs["o"].files.values()
    return runner.store.path(digest).read_text()


def once_written(path: Path, act: Callable[[], object]) -> None:
    """Call `act`, in a thread, as soon as there is something in the file."""

    def wait() -> None:
        while not (path.exists() and path.read_text()):
            time.sleep(0.01)
        act()

    Thread(target=wait).start()


def kill_server(workers: Workers) -> None:
    assert workers._process is not None
    workers._process.kill()


def compiled(workers: Workers, folder: Path) -> tuple[Ended, bytes]:
    """A tiny context binary, made by way of the press."""
    (folder / "out" / "said").mkdir(parents=True)
    (folder / "tmp").mkdir()
    ended = workers.run(
        folder=folder,
        log=folder / "log",
        deadline_s=120,
        env={"TMPDIR": "tmp"},
        call="qnnbuild.work.probe:compiles",
        outputs=("said",),
    )
    assert ended.code == 0, (folder / "log").read_text()
    return ended, b"".join(p.read_bytes() for p in (folder / "out" / "said").glob("*.bin"))


def test_a_cancelled_build_says_so_and_leaves_no_child(tmp_path: Path) -> None:
    workers, pids = Workers(path=sys.path), tmp_path / "pids"
    runner = runner_of(tmp_path, workers)

    def stop() -> None:
        runner.cancelled = True
        workers.cancel()

    once_written(pids, stop)
    with pytest.raises(Cancelled, match="context/m/g@SM8750 was stopped"):
        runner.run(doing("hangs_with_a_child", pids), KEY, {})
    workers.close()

    assert [alive(int(pid)) for pid in pids.read_text().split()] == [False, False]


def test_a_build_is_cancelled_while_its_server_starts(tmp_path: Path) -> None:
    workers, pids = Workers(path=sys.path), tmp_path / "pids"
    runner = runner_of(tmp_path, workers)

    def stop() -> None:
        while workers._process is None:
            time.sleep(0.001)
        runner.cancelled = True
        workers.cancel()

    Thread(target=stop).start()
    hangs = replace(doing("hangs_with_a_child", pids), deadline_s=300.0)
    began = time.monotonic()
    with pytest.raises(Cancelled):
        runner.run(hangs, KEY, {})
    took = time.monotonic() - began
    workers.close()

    assert took < hangs.deadline_s  # else it was its deadline


def test_what_ran_when_the_server_died_runs_again_in_a_new_one(tmp_path: Path) -> None:
    workers, pids = Workers(path=sys.path), tmp_path / "pids"
    once_written(pids, lambda: kill_server(workers))
    said = text_of(runner_of(tmp_path, workers), doing("hangs_the_first_time", pids))
    workers.close()

    assert said == "well"
    assert [alive(int(pid)) for pid in pids.read_text().split()] == [False, False]


def test_what_an_action_leaves_running_ends_with_it(tmp_path: Path) -> None:
    workers, pids = Workers(path=sys.path), tmp_path / "pids"
    said = text_of(runner_of(tmp_path, workers), doing("leaves_something_running", pids))
    left_alive = alive(int(pids.read_text()))
    workers.close()

    assert said == "well"
    assert not left_alive


@pytest.mark.parametrize("function", ["forgets_its_output", "raises"])
def test_an_action_that_cannot_write_its_log_ends(function: str, tmp_path: Path) -> None:
    workers = Workers(warm="qnnbuild.work.warm:load", path=sys.path)
    ended = workers.run(
        folder=tmp_path,
        log=Path("/dev/full"),
        deadline_s=60,
        env={},
        call=f"tests.e2e.misbehaving:{function}",
    )
    workers.close()

    assert (ended.code, ended.late) == (70, False)


def test_a_call_of_nothing_ends_alone(tmp_path: Path) -> None:
    """What cannot be imported beforehand is the child's trouble, which has a log to tell it."""
    workers = Workers(warm="qnnbuild.work.warm:load", path=sys.path)
    ask = partial(workers.run, folder=tmp_path, deadline_s=60, env={})
    lost = ask(log=tmp_path / "lost", call=f"qnnbuild.work.{'x' * 2000}:y")
    other = ask(log=tmp_path / "other", argv=["true"])
    workers.close()

    assert (lost.code, other.code) == (70, 0)
    assert (
        "ModuleNotFoundError: No module named 'qnnbuild.work.xxx" in (tmp_path / "lost").read_text()
    )


def test_an_action_leaves_no_bytecode_beside_the_code_of_a_repo(tmp_path: Path) -> None:
    (tmp_path / "qbl_code.py").write_text("def work(run):\n    pass\n")
    workers = Workers(warm="qnnbuild.work.warm:load", path=[*sys.path, str(tmp_path)])
    ended = workers.run(
        folder=tmp_path, log=tmp_path / "log", deadline_s=60, env={}, call="qbl_code:work"
    )
    workers.close()

    assert ended.code == 0, (tmp_path / "log").read_text()
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_server_that_dies_twice_is_told(tmp_path: Path) -> None:
    workers, pids = Workers(path=sys.path), tmp_path / "pids"

    def kill_twice() -> None:
        pids.unlink()
        once_written(pids, lambda: kill_server(workers))
        kill_server(workers)

    once_written(pids, kill_twice)
    with pytest.raises(Lost, match="the server that runs actions has died"):
        runner_of(tmp_path, workers).run(doing("hangs_with_a_child", pids), KEY, {})
    workers.close()


def test_a_dead_mould_is_replaced_with_its_server(tmp_path: Path) -> None:
    workers, pids = Workers(path=sys.path), tmp_path / "pids"
    runner = runner_of(tmp_path, workers)
    text_of(runner, doing("well", pids))
    assert workers._process is not None
    mould = children(workers._process.pid)[sys.executable]
    os.kill(mould, signal.SIGKILL)
    said = text_of(runner, doing("well", pids))
    workers.close()

    assert said == "well"


def test_a_dead_press_is_replaced_and_makes_the_same_bytes(tmp_path: Path) -> None:
    workers = Workers(path=sys.path)
    _, before = compiled(workers, tmp_path / "before")
    assert workers._process is not None
    press = children(workers._process.pid)[PRESS]
    os.kill(press, signal.SIGKILL)
    _, after = compiled(workers, tmp_path / "after")
    another = children(workers._process.pid)[PRESS]
    workers.close()

    assert before
    assert after == before
    assert another != press


@pytest.mark.parametrize("calls", ["personality", "ptrace", "pidfd_open"])
def test_where_a_container_forbids_a_system_call_all_works(calls: str, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.e2e.test_server import *\n"
        "workers = Workers(path=sys.path)\n"
        "print(len(compiled(workers, Path(sys.argv[1]))[1])); workers.close()"
    )
    done = subprocess.run(
        [sys.executable, forbidding.__file__, calls, sys.executable, "-c", code, tmp_path / "x"],
        env={"PYTHONPATH": str(REPO), "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "49152\n", "")
