"""A server that is started before anybody asks for it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from qnnbuild.engine.workers import Workers
from tests.e2e.processes import alive, children
from tests.e2e.test_server import PRESS, compiled

WARM = "qnnbuild.work.warm:load"
COMPILES = "qnnbuild.work.context_ort"


def started(workers: Workers) -> int:
    assert workers._process is not None
    return workers._process.pid


def press_of(server: int) -> int:
    end = time.monotonic() + 60
    while PRESS not in (found := children(server)):
        assert time.monotonic() < end, f"no press, only {found}"
        time.sleep(0.02)
    return found[PRESS]


def test_the_server_that_was_begun_does_the_work_and_its_press_the_same_bytes(
    tmp_path: Path,
) -> None:
    lazy = Workers(warm=WARM, path=sys.path)
    _, bytes_ = compiled(lazy, tmp_path / "lazy")
    lazy.close()
    workers = Workers(warm=WARM, path=sys.path)
    workers.begin([COMPILES])
    server = started(workers)
    press = press_of(server)
    _, ahead = compiled(workers, tmp_path / "ahead")
    still = started(workers)
    workers.close()

    assert bytes_
    assert ahead == bytes_
    assert still == server
    assert not alive(press)


def test_who_compiles_nothing_has_no_press(tmp_path: Path) -> None:
    workers = Workers(warm=WARM, path=sys.path)
    workers.begin(["qnnbuild.work.fetch", "no.such.module"])
    (tmp_path / "out" / "o").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    workers.run(
        folder=tmp_path,
        log=tmp_path / "log",
        deadline_s=60,
        env={},
        argv=["/bin/true"],
        outputs=("o",),
    )
    found = children(started(workers))
    workers.close()

    assert PRESS not in found


@pytest.mark.parametrize("waits_s", [0.0, 1.0])
def test_a_server_that_nobody_used_ends(waits_s: float) -> None:
    workers = Workers(warm=WARM, path=sys.path)
    workers.begin([COMPILES])
    server = started(workers)
    time.sleep(waits_s)
    below = children(server)
    workers.close()

    assert not alive(server)
    assert [pid for pid in below.values() if alive(pid)] == []


def test_a_begun_server_that_died_is_started_anew(tmp_path: Path) -> None:
    workers = Workers(warm=WARM, path=sys.path)
    workers.begin([])
    assert workers._process is not None
    workers._process.kill()
    workers._process.wait()
    ended, _ = compiled(workers, tmp_path / "x")
    workers.close()

    assert ended.code == 0
