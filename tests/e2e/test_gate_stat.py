"""The gate's pass of stat, alone and by two processes."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("much", [1, 1000], ids=["two processes", "one"])
def test_what_is_not_as_it_was_is_found_by_one_and_by_two(
    groups: list[Group], tmp_path: Path, much: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_stat, "MUCH", much)
    monkeypatch.setattr(gate_stat, "_may_fork", lambda: True)
    (tmp_path / "a0").unlink()
    (tmp_path / "d3").write_text("longer than it was")
    folder = os.open(tmp_path, os.O_RDONLY)
    found = touched_of(groups, folder)
    os.close(folder)

    assert found == {"a": {b"a0": ABSENT}, "d": {b"d3": row(tmp_path / "d3")}}
    assert all(isinstance(r, Row) for rows in found.values() for r in rows.values())


def test_a_second_process_that_dies_is_done_without(
    groups: list[Group], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_stat, "MUCH", 1)
    monkeypatch.setattr(gate_stat, "_may_fork", lambda: True)
    monkeypatch.setattr(gate_stat, "_tell", lambda *_: os._exit(9))
    (tmp_path / "d3").unlink()
    folder = os.open(tmp_path, os.O_RDONLY)
    found = touched_of(groups, folder)
    os.close(folder)

    assert found == {"d": {b"d3": ABSENT}}


@pytest.mark.parametrize("sizes", [[], [0], [5], [1, 9], [9, 1], [0, 0, 7, 0]])
def test_halves_are_all_of_it(sizes: list[int], tmp_path: Path) -> None:
    groups = [
        group(tmp_path, str(n), [f"{n}-{m}" for m in range(size)]) for n, size in enumerate(sizes)
    ]
    ours, theirs = gate_stat._halves(groups)

    assert [*ours, *theirs] == groups
