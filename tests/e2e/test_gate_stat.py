"""The gate's pass of stat, alone and by two processes."""

from __future__ import annotations

import os
import signal
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest

from qnnbuild.engine import gate_stat
from qnnbuild.engine.gate_file import ABSENT, Row, Rows, row_of, rows_of
from qnnbuild.engine.gate_stat import changed_of


def rows(top: Path, names: Sequence[str]) -> Rows:
    for name in names:
        (top / name).write_text(name)
    return rows_of({os.fsencode(name): row_of(top / name) for name in names})


TEN = [
    f"{letter}{n}"
    for letter, count in (("a", 1), ("b", 2), ("c", 3), ("d", 4))
    for n in range(count)
]


@pytest.fixture
def ten(tmp_path: Path) -> Rows:
    return rows(tmp_path, TEN)


def changed(ten: Rows, top: Path) -> list[int]:
    return changed_of(b"\0".join(ten.paths), ten.columns, top)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """A second process is worth its fork; the paths that this one looks at."""
    monkeypatch.setattr(gate_stat, "MUCH", 1)
    monkeypatch.setattr(gate_stat, "_may_fork", lambda: True)
    here: list[bytes] = []
    looks = gate_stat._changed

    def noted(paths: bytes, columns: Sequence[array[int]], folder: int) -> list[int]:
        here.append(paths)
        return looks(paths, columns, folder)

    monkeypatch.setattr(gate_stat, "_changed", noted)
    return here


OURS = b"a0\0b0\0b1\0c0"
THEIRS = b"c1\0c2\0d0\0d1\0d2\0d3"


def test_what_is_as_it_was_is_not_told(ten: Rows, tmp_path: Path) -> None:
    assert changed(ten, tmp_path) == []


def test_each_field_of_a_stamp_tells_a_change(tmp_path: Path) -> None:
    seen = row_of(_written(tmp_path / "a"))
    others = [seen._replace(**{field: -2}) for field in Row._fields]
    for row in others:
        assert changed(rows_of({b"a": row}), tmp_path) == [0]
    assert changed(rows_of({b"a": seen}), tmp_path) == []


def _written(path: Path) -> Path:
    path.write_text("a")
    return path


def test_what_is_not_there_is_as_it_was_when_it_was_not(tmp_path: Path) -> None:
    known = rows_of({b"a": ABSENT, b"b": ABSENT})
    (tmp_path / "b").write_text("")

    assert changed(known, tmp_path) == [1]


def test_two_processes_find_what_one_finds(ten: Rows, tmp_path: Path, two: list[bytes]) -> None:
    (tmp_path / "a0").unlink()
    (tmp_path / "d3").write_text("longer than it was")

    assert changed(ten, tmp_path) == [0, 9]
    assert two == [OURS]


def test_more_than_a_pipe_holds_is_told(tmp_path: Path, two: list[bytes]) -> None:
    many = rows(tmp_path, [f"{n:05}" for n in range(40_000)])
    for path in tmp_path.iterdir():
        path.unlink()

    assert changed(many, tmp_path) == [*range(40_000)]
    assert len(two) == 1


def test_without_room_for_a_process_one_looks_at_all(
    ten: Rows, tmp_path: Path, two: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", full)
    before = len([*Path("/proc/self/fd").iterdir()])

    assert (changed(ten, tmp_path), two) == ([], [OURS + b"\0" + THEIRS])
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_who_hears_nothing_of_its_children_looks_itself(
    ten: Rows, tmp_path: Path, two: list[bytes]
) -> None:
    (tmp_path / "d3").unlink()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        found = changed(ten, tmp_path)
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert (found, two) == ([9], [OURS, THEIRS])


def test_a_second_process_that_dies_is_done_without(
    ten: Rows, tmp_path: Path, two: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_stat, "_tell", lambda *_: os._exit(9))
    (tmp_path / "d3").unlink()

    assert (changed(ten, tmp_path), two) == ([9], [OURS, THEIRS])


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b" * 99], ["a" * 99, "b"]])
def test_two_processes_look_at_all_of_it(
    names: list[str], tmp_path: Path, two: list[bytes]
) -> None:
    few = rows(tmp_path, names)
    for name in names:
        (tmp_path / name).unlink()

    assert changed(few, tmp_path) == [*range(len(names))]


@pytest.mark.parametrize("paths", [b"", b"a", b"a\0b\0c", b"\0\0\0\0"])
def test_as_many_paths_as_rows_or_none_counts(
    paths: bytes, tmp_path: Path, two: list[bytes]
) -> None:
    column = array("q", [1, 2])
    with pytest.raises(ValueError, match="zip"):
        changed_of(paths, [column] * 4, tmp_path)


def test_no_rows_have_not_changed(tmp_path: Path, two: list[bytes]) -> None:
    assert changed_of(b"", [array("q")] * 4, tmp_path) == []
