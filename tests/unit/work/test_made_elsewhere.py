"""Files that were made elsewhere: taken when they are whole and of the kind, else named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from qnnbuild.work.fetch import fetch_file
from qnnbuild.work.made_elsewhere import COMPILED, GENIE, MADE, check_made
from qnnbuild.work.run import Run, WorkError
from tests.models import scale_bytes

DATA = Path(__file__).parents[1] / "formats" / "data"


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    return path


@pytest.mark.parametrize(
    ("name", "made"), [("one_graph_sm8750.bin", COMPILED), ("quantized.dlc", GENIE)]
)
def test_what_it_should_be_is_taken_under_a_name_of_its_own(
    name: str, made: str, tmp_path: Path
) -> None:
    (tmp_path / "in/bin").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    held = unpacked(name, tmp_path / "in/bin").read_bytes()

    fetch_file(
        Run(
            params={"made": made},
            inputs={"source": tmp_path / "in"},
            outputs={"model": tmp_path / "out"},
        )
    )

    assert [path.name for path in (tmp_path / "out").iterdir()] == [MADE[made]]
    assert (tmp_path / "out" / MADE[made]).read_bytes() == held


@pytest.mark.parametrize(
    ("name", "made", "why"),
    [
        ("quantized.dlc", COMPILED, "no context binary that can be taken: it is a DLC"),
        (
            "three_chips.bin",
            COMPILED,
            "no context binary that can be taken: it holds contexts for 3 chips",
        ),
        ("one_graph_sm8750.bin", GENIE, "no DLC that can be taken: it is a context binary"),
    ],
)
def test_another_kind_of_file_is_named(name: str, made: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        check_made(unpacked(name, tmp_path), made, shown=name)

    assert caught.value.message == f"'{name}' is {why}"
    assert caught.value.hint


def test_an_onnx_file_needs_no_precision_compiled(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(scale_bytes())

    with pytest.raises(WorkError) as caught:
        check_made(tmp_path / "m.onnx", COMPILED, shown="m.onnx")

    assert caught.value.message == "'m.onnx' is no context binary that can be taken: it is a ONNX"
    assert caught.value.hint == "without precision: compiled it is compiled here"


def test_a_binary_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = unpacked("one_graph_sm8750.bin", tmp_path)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])

    with pytest.raises(WorkError) as caught:
        check_made(path, COMPILED, shown=path.name)

    assert caught.value.message == (
        "'one_graph_sm8750.bin' is no context binary that can be taken: cut short: the header "
        f"promises {size} bytes, the file has {size // 2}"
    )


def test_a_pattern_for_several_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(b"x")

    with pytest.raises(WorkError) as caught:
        fetch_file(
            Run(params={"made": COMPILED}, inputs={"source": tmp_path}, outputs={"model": tmp_path})
        )

    assert caught.value.message == "one file is wanted, the pattern matches 2"
