"""The gate's pass of stat, alone and by two processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from qnnbuild.engine import gate_stat
from qnnbuild.engine.gate_file import ABSENT, Group, Row, group_of
from qnnbuild.engine.gate_stat import touched_of


def row(path: Path) -> Row:
    stat = path.stat()
    return Row(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


def group(top: Path, name: str, files: Sequence[str]) -> Group:
    for file in files:
        (top / file).write_text(file)
    rows = {os.fsencode(file): row(top / file) for file in files}
    return group_of(name=name, recipe=name, closed=True, saved_s=0.0, names=[name], rows=rows)


@pytest.fixture
def groups(tmp_path: Path) -> list[Group]:
    """Four, of 1, 2, 3 and 4 files."""
    names = ["a", "b", "c", "d"]
    return [
        group(tmp_path, name, [f"{name}{n}" for n in range(count)])
        for count, name in enumerate(names, 1)
    ]


def looked(groups: list[Group], top: Path) -> gate_stat.Touched:
    folder = os.open(top, os.O_RDONLY)
    try:
        return touched_of(groups, folder)
    finally:
        os.close(folder)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A second process is worth its fork; the names of the groups that this one looks at."""
    monkeypatch.setattr(gate_stat, "MUCH", 1)
    monkeypatch.setattr(gate_stat, "_may_fork", lambda: True)
    here: list[list[str]] = []
    looks = gate_stat._touched

    def noted(groups: Sequence[Group], folder: int) -> gate_stat.Touched:
        here.append([group.name for group in groups])
        return looks(groups, folder)

    monkeypatch.setattr(gate_stat, "_touched", noted)
    return here


def test_two_processes_find_what_one_finds(
    groups: list[Group], tmp_path: Path, two: list[list[str]]
) -> None:
    (tmp_path / "a0").unlink()
    (tmp_path / "d3").write_text("longer than it was")
    found = looked(groups, tmp_path)

    assert two == [["a", "b", "c"]]
    assert found == {"a": {b"a0": ABSENT}, "d": {b"d3": row(tmp_path / "d3")}}
    assert all(isinstance(r, Row) for rows in found.values() for r in rows.values())
    assert gate_stat._different(groups[0], -1) == {b"a0": ABSENT}


def test_more_than_a_pipe_holds_is_told(tmp_path: Path, two: list[list[str]]) -> None:
    many = [group(tmp_path, name, [f"{name}{n:0100}" for n in range(1500)]) for name in "ab"]
    for path in tmp_path.iterdir():
        path.unlink()
    found = looked(many, tmp_path)

    assert two == [["a"]]
    assert [len(files) for files in found.values()] == [1500, 1500]


def test_without_room_for_a_process_one_looks_at_all(
    groups: list[Group], tmp_path: Path, two: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", full)
    before = len([*Path("/proc/self/fd").iterdir()])

    assert (looked(groups, tmp_path), two) == ({}, [["a", "b", "c", "d"]])
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_who_hears_nothing_of_its_children_looks_itself(
    groups: list[Group], tmp_path: Path, two: list[list[str]]
) -> None:
    (tmp_path / "d3").unlink()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        found = looked(groups, tmp_path)
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert (found, two) == ({"d": {b"d3": ABSENT}}, [["a", "b", "c"], ["d"]])


def test_a_second_process_that_dies_is_done_without(
    groups: list[Group], tmp_path: Path, two: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_stat, "_tell", lambda *_: os._exit(9))
    (tmp_path / "d3").unlink()

    assert looked(groups, tmp_path) == {"d": {b"d3": ABSENT}}
    assert two == [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize("sizes", [[], [0], [5], [1, 9], [9, 1], [0, 0, 7, 0]])
def test_halves_are_all_of_it(sizes: list[int], tmp_path: Path) -> None:
    groups = [
        group(tmp_path, str(n), [f"{n}-{m}" for m in range(size)]) for n, size in enumerate(sizes)
    ]
    ours, theirs = gate_stat._halves(groups)

    assert [*ours, *theirs] == groups
