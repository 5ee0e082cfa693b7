"""Files that were made elsewhere: taken when they are whole and of the kind, else named."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.work.made_elsewhere import read_compiled, read_prepared
from qnnbuild.work.run import WorkError
from tests.models import scale_bytes

DATA = Path(__file__).parents[1] / "formats" / "data"
Reader = Callable[[Path], Any]


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    return path


@pytest.mark.parametrize(
    ("name", "reader", "why"),
    [
        ("quantized.dlc", read_compiled, "no context binary that can be taken: it is a DLC"),
        (
            "three_chips.bin",
            read_compiled,
            "no context binary that can be taken: it holds contexts for 3 chips",
        ),
        (
            "one_graph_sm8750.bin",
            read_prepared,
            "no DLC that can be taken: it is a context binary",
        ),
    ],
)
def test_another_kind_of_file_is_named(name: str, reader: Reader, why: str, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        reader(unpacked(name, tmp_path))

    assert caught.value.message == f"the source is {why}"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "reader"),
    [("one_graph_sm8750.bin", read_compiled), ("quantized.dlc", read_prepared)],
)
def test_what_it_should_be_is_read(name: str, reader: Reader, tmp_path: Path) -> None:
    assert reader(unpacked(name, tmp_path)).graphs


def test_an_onnx_file_needs_no_precision_compiled(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(scale_bytes())

    with pytest.raises(WorkError) as caught:
        read_compiled(tmp_path / "m.onnx")

    assert caught.value.message == (
        "the source is no context binary that can be taken: it is an ONNX file"
    )
    assert caught.value.hint == "without precision: compiled it is compiled here"


def test_a_git_lfs_pointer_says_so(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\nsize 9\n")

    with pytest.raises(WorkError) as caught:
        read_compiled(tmp_path / "m.bin")

    assert caught.value.message.endswith("a Git LFS pointer: git lfs pull")


def test_a_binary_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = unpacked("one_graph_sm8750.bin", tmp_path)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])

    with pytest.raises(WorkError) as caught:
        read_compiled(path)

    assert caught.value.message == (
        "the source is no context binary that can be taken: cut short: the header promises "
        f"{size} bytes, the file has {size // 2}"
    )
