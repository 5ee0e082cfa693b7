from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from qnnbuild.engine.neighbours import Neighbours, Told

TOLD = Told(server=7, promised=1000, running=2, youngest=3.5)


def test_builds_see_what_the_others_say(tmp_path: Path) -> None:
    first, second = Neighbours(tmp_path / "n"), Neighbours(tmp_path / "n")
    first.say(TOLD)

    assert (first.others(), second.others()) == ([], [TOLD])


def test_what_runs_nothing_says_nothing(tmp_path: Path) -> None:
    first, second = Neighbours(tmp_path / "n"), Neighbours(tmp_path / "n")
    first.say(TOLD)
    first.say(Told(server=7, promised=0, running=0, youngest=0.0))

    assert second.others() == []


def test_a_build_that_was_killed_or_sleeps_does_not_count(tmp_path: Path) -> None:
    first, second = Neighbours(tmp_path), Neighbours(tmp_path)
    first.say(TOLD)
    (path,) = tmp_path.glob("*.json")
    before = path.stat().st_mtime
    os.utime(path, (before - 60, before - 60))
    asleep = second.others()
    os.utime(path, (before - 7200, before - 7200))
    gone = second.others()

    assert (asleep, gone, path.exists()) == ([], [], False)


@pytest.mark.parametrize("text", ["", "{half", "[]", '{"server": 1}', "7"])
def test_half_a_file_is_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)

    assert Neighbours(tmp_path).others() == []


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    neighbours = Neighbours(tmp_path / "link")
    neighbours.say(TOLD)
    with neighbours.deciding():
        found = neighbours.others()

    assert (neighbours.folder, found, list((tmp_path / "real").iterdir())) == (None, [], [])


def test_two_builds_decide_one_after_the_other(tmp_path: Path) -> None:
    first, second = Neighbours(tmp_path), Neighbours(tmp_path)
    told: list[str] = []

    def decide() -> None:
        with second.deciding():
            told.append("second")

    with first.deciding():
        thread = threading.Thread(target=decide)
        thread.start()
        told.append("first")
    thread.join()

    assert told == ["first", "second"]


def test_who_keeps_the_right_to_decide_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qnnbuild.engine.neighbours.LOCK_TRIES", 2)
    with Neighbours(tmp_path).deciding(), Neighbours(tmp_path).deciding():
        reached = True

    assert reached
