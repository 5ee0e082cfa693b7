"""Folders of answers against folders of references."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qnnbuild.work.npz import write_npz
from qnnbuild.work.numbers import compare_folders
from qnnbuild.work.run import WorkError


def folder(path: Path, **arrays: list[object]) -> Path:
    path.mkdir()
    for number, values in enumerate(zip(*arrays.values(), strict=True)):
        named = {name: np.asarray(v) for name, v in zip(arrays, values, strict=True)}
        write_npz(path / f"{number:06}.npz", named)
    return path


def test_the_worst_sample_is_the_one_with_the_lowest_sqnr(tmp_path: Path) -> None:
    ours = folder(tmp_path / "ours", y=[[1.0, 2.0], [1.0, 2.5], [1.0, 2.1]])
    theirs = folder(tmp_path / "theirs", y=[[1.0, 2.0]] * 3)
    told = compare_folders(ours, theirs, {"y": {"kind": "float"}})

    assert told["y"]["worst"]["sample"] == "000001"
    assert list(told["y"]["samples"]) == ["000000", "000001", "000002"]
    assert told["y"]["all"]["max_abs"] == 0.5


def test_whole_numbers_have_their_worst_sample_by_what_differs(tmp_path: Path) -> None:
    ours = folder(tmp_path / "ours", y=[[1, 2], [3, 3]])
    theirs = folder(tmp_path / "theirs", y=[[1, 2], [1, 2]])
    told = compare_folders(ours, theirs, {"y": {"kind": "exact"}})

    assert told["y"]["worst"] == {"sample": "000001", "elements": 2, "differing": 2, "max_abs": 2.0}


def test_quantized_outputs_are_compared_by_what_they_mean(tmp_path: Path) -> None:
    steps = np.array([128, 130], np.uint8)
    ours = folder(tmp_path / "ours", y=[steps + np.uint8(1)])
    theirs = folder(tmp_path / "theirs", y=[steps])
    kind = {"kind": "quantized", "scale": 0.5, "zero_point": 128}
    told = compare_folders(ours, theirs, {"y": kind})

    assert (told["y"]["all"]["max_abs"], told["y"]["all"]["peak"]) == (0.5, 1.0)


def test_only_outputs_that_both_have_are_compared(tmp_path: Path) -> None:
    ours = folder(tmp_path / "ours", y=[[1.0]], z=[[1.0]])
    theirs = folder(tmp_path / "theirs", y=[[1.0]])

    assert list(compare_folders(ours, theirs, {n: {"kind": "float"} for n in "yz"})) == ["y"]


def test_another_shape_is_an_error(tmp_path: Path) -> None:
    ours = folder(tmp_path / "ours", y=[[1.0, 2.0]])
    theirs = folder(tmp_path / "theirs", y=[[1.0]])

    with pytest.raises(WorkError, match="output 'y' has another shape than the original's"):
        compare_folders(ours, theirs, {"y": {"kind": "float"}})
