"""Which of the files that come out are those that went in."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_bytes
from qnnbuild.engine import as_given
from qnnbuild.engine.as_given import AsGiven

ONE, OTHER = b"1" * 64, b"2" * 64


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsGiven:
    """Two large files and a small one, just copied."""
    monkeypatch.setattr(as_given, "LARGE", 64)
    files = {"one": ONE, "deep/other": OTHER, "small": b"3"}
    (tmp_path / "deep").mkdir()
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = AsGiven()
    tree = Tree(files={name: (digest_bytes(data), len(data)) for name, data in files.items()})
    found.given(tmp_path, tree)
    return found


def _move(one: Path, _: Path, to: Path) -> None:
    one.rename(to)


def _link(one: Path, _: Path, to: Path) -> None:
    os.link(one, to)


def _move_and_forbid(one: Path, _: Path, to: Path) -> None:
    one.chmod(0o400)
    one.rename(to)


@pytest.mark.parametrize("hand_on", [_move, _link, _move_and_forbid])
def test_what_is_handed_on_is_known(
    given: AsGiven, tmp_path: Path, hand_on: Callable[[Path, Path, Path], None]
) -> None:
    hand_on(tmp_path / "one", tmp_path / "deep/other", tmp_path / "out")

    assert given.digest(tmp_path / "out") == digest_bytes(ONE)


def test_each_is_known_for_itself(given: AsGiven, tmp_path: Path) -> None:
    assert given.digest(tmp_path / "deep/other") == digest_bytes(OTHER)
    assert given.digest(tmp_path / "one") == digest_bytes(ONE)


def _write(one: Path, _: Path, to: Path) -> None:
    one.write_bytes(OTHER)
    one.rename(to)


def _write_one_byte(one: Path, _: Path, to: Path) -> None:
    with one.open("r+b") as file:
        file.write(b"9")
    one.rename(to)


def _add(one: Path, _: Path, to: Path) -> None:
    with one.open("ab") as file:
        file.write(b"9")
    one.rename(to)


def _copy(one: Path, _: Path, to: Path) -> None:
    shutil.copy2(one, to)


def _copy_over_with_its_times(one: Path, other: Path, to: Path) -> None:
    shutil.copy2(other, one)
    one.rename(to)


def _write_and_agree_on_a_time(one: Path, _: Path, to: Path) -> None:
    """As who wants the same archive each time does it."""
    one.write_bytes(OTHER)
    os.utime(one, (946_684_800, 946_684_800))
    one.rename(to)


def _remake(one: Path, _: Path, to: Path) -> None:
    """Often with the same inode."""
    one.unlink()
    to.write_bytes(OTHER)


@pytest.mark.parametrize(
    "change",
    [
        _write, _write_one_byte, _add, _copy, _copy_over_with_its_times, _remake,
        _write_and_agree_on_a_time,
    ],
)  # fmt: skip
def test_what_is_another_file_or_was_written_to_is_not(
    given: AsGiven, tmp_path: Path, change: Callable[[Path, Path, Path], None]
) -> None:
    change(tmp_path / "one", tmp_path / "deep/other", tmp_path / "out")

    assert given.digest(tmp_path / "out") is None


def test_a_small_file_is_read_again(given: AsGiven, tmp_path: Path) -> None:
    before = (tmp_path / "small").stat()

    assert given.digest(tmp_path / "small") is None
    assert before.st_mtime > time.time() - 3600


def test_nobody_can_guess_the_times(given: AsGiven, tmp_path: Path) -> None:
    times = {(tmp_path / name).stat().st_mtime_ns for name in ("one", "deep/other")}

    assert len(times) == 2
    assert all(time_ns < 946_684_800 * 10**9 for time_ns in times)
