"""What is refused before anything is calibrated, each with its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.run import WorkError
from tests.graphs import model
from tests.sampled import IDS, TWO, X, feeds, repo, report, run_collect, save, save_npy

PICTURE = model("g (float[1, 3, 2, 5] x) => (float[1, 3, 2, 5] y) { y = Relu (x) }")
HALF = model("g (float16[1, 4] x) => (float16[1, 4] y) { y = Relu (x) }")
WHOLE = model("g (int32[1, 4] x) => (int32[1, 4] y) { y = Neg (x) }")
UNSIGNED = model("g (uint32[1, 4] x) => (uint32[1, 4] y) { y = Identity (x) }")
SCALED = model("g (float[1, 4] x, float[1] scale) => (float[1, 4] y) { y = Mul (x, scale) }")


def refused(folder: Path, graph: Any = None, **params: Any) -> WorkError:
    with pytest.raises(WorkError) as caught:
        run_collect(folder, *([graph] if graph else []), **params)
    assert caught.value.place == "samples"
    assert caught.value.exit_code == 2
    return caught.value


# --- names ------------------------------------------------------------------------------------


def test_a_missing_name_gets_the_nearest_of_the_spare_ones(tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=X, id=IDS)

    error = refused(tmp_path, TWO)

    assert error.message == "'calib/a.npz' has no array for the input 'ids'"
    assert error.facts == (("its arrays", "x, id"), ("wanted", "int64 [3]"))
    assert error.hint == "was this meant: 'id'?"


def test_a_file_of_no_input_is_refused(tmp_path: Path) -> None:
    save_npy(repo(tmp_path) / "calib/0/z.npy", X)

    error = refused(tmp_path, TWO)

    assert error.message == "'calib/0/z.npy' does not say which input it is"
    assert error.facts == (("inputs", "x, ids"),)


def test_a_sample_without_one_of_its_files_is_refused(tmp_path: Path) -> None:
    save_npy(repo(tmp_path) / "calib/0/x.npy", X)

    assert refused(tmp_path, TWO).message == "'calib/0' has no file for the input 'ids'"


def test_two_files_for_one_input_are_refused(tmp_path: Path) -> None:
    save_npy(repo(tmp_path) / "calib/0/x.npy", X)
    (repo(tmp_path) / "calib/0/x.raw").write_bytes(X.tobytes())

    assert refused(tmp_path, TWO).message == (
        "'calib/0/x.npy' and 'calib/0/x.raw' are both 'x' of one sample"
    )


# --- shapes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((3, 2, 5), "the batch axis is missing: save a[np.newaxis] instead of a"),
        ((1, 2, 5, 3), "its axes stand in another order: save np.moveaxis(a, -1, 1) instead of a"),
        ((1, 3, 5, 2), None),
    ],
)
def test_another_shape_is_refused(shape: tuple[int, ...], hint: str | None, tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=np.ones(shape, np.float32))

    error = refused(tmp_path, PICTURE)

    assert error.message == f"'calib/a.npz' has the shape {list(shape)}"
    assert error.facts == (("wanted", "x: float32 [1, 3, 2, 5]"),)
    assert error.hint == hint


def test_nhwc_is_told_from_nchw_the_other_way_round(tmp_path: Path) -> None:
    graph = model("g (float[1, 2, 5, 3] x) => (float[1, 2, 5, 3] y) { y = Relu (x) }")
    save(repo(tmp_path) / "calib/a.npz", x=np.ones((1, 3, 2, 5), np.float32))

    assert refused(tmp_path, graph).hint == (
        "its axes stand in another order: save np.transpose(a, (0, 2, 3, 1)) instead of a"
    )


# --- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "array", "told"),
    [
        (WHOLE, [1.0, 2.0, -3.0, 0.0], "float64 → int32, exact"),
        (WHOLE, np.asarray([1, 2, 3, 4], np.uint8), "uint8 → int32, exact"),
        (HALF, [0.5, 1.0, 2.0, 4.0], "float64 → float16, exact"),
        (HALF, [0.1, 1.0, 2.0, 4.0], "float64 → float16, rounded"),
        (None, np.asarray([1, 2, 3, 4], np.int64), "int64 → float32, exact"),
        (None, np.asarray([True, False, True, True]), "bool → float32, exact"),
    ],
)
def test_types_change_where_values_survive(
    graph: Any, array: Any, told: str, tmp_path: Path
) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=np.asarray(array)[None])

    run_collect(tmp_path, *([graph] if graph else []))

    assert report(tmp_path)["casts"] == {"x": {told: 1}}
    assert np.allclose(feeds(tmp_path)[0]["x"][0], np.asarray(array, float), rtol=1e-3)


@pytest.mark.parametrize(
    ("graph", "array", "message", "first"),
    [
        (WHOLE, [1.5, 2, 3, 4], "is float64 and cannot become int32", "1.5 would be 1"),
        (WHOLE, np.asarray([1, 2, 3, 1 << 32]), "is int64 and cannot become int32",
         "4294967296 would be 0"),
        (UNSIGNED, np.asarray([1, 2, 3, -1], np.int32), "is int32 and cannot become uint32",
         "-1 would be 4294967295"),
        (HALF, [1.0, 2.0, 3.0, 1e5], "is float64 and cannot become float16",
         "100000.0 would be inf"),
        (None, np.asarray([1, 2, 3, (1 << 24) + 1]), "is int64 and cannot become float32",
         "16777217 would be 16777216.0"),
    ],
)  # fmt: skip
def test_types_do_not_change_where_values_do(
    graph: Any, array: Any, message: str, first: str, tmp_path: Path
) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=np.asarray(array)[None])

    error = refused(tmp_path, graph)

    assert error.message == f"'calib/a.npz' {message}"
    assert error.facts[1:] == (("values that change", "1 of 4"), ("first", first))


@pytest.mark.parametrize("array", [["a", "b", "c", "d"], [{}, {}, {}, {}]])
def test_what_is_no_number_is_refused(array: Any, tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=np.asarray([array]))

    assert refused(tmp_path).message.startswith("'calib/a.npz': 'x' holds ")


def test_an_input_that_npz_cannot_hold_is_refused(tmp_path: Path) -> None:
    graph = model("g (bfloat16[4] x) => (bfloat16[4] y) { y = Relu (x) }")

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, graph, patterns=[], random=1)

    assert caught.value.message == ("input 'x' is bfloat16, of which files of samples know nothing")


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(value: float, tmp_path: Path) -> None:
    bad = 2 * X
    bad[0, 2] = value
    save(repo(tmp_path) / "calib/a.npz", x=np.stack([X, bad]))

    error = refused(tmp_path)

    assert error.message == "'calib/a.npz[1]' has 1 values that are not finite"
    assert error.facts == (("first", f"{value} at [0, 2]"),)


@pytest.mark.parametrize(
    ("value", "message"),
    [(0.0, "'calib/b.npz' is all zero"), (3.0, "'calib/b.npz' is the same number everywhere")],
)
def test_a_sample_that_says_nothing_is_refused(value: float, message: str, tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=X)
    save(repo(tmp_path) / "calib/b.npz", x=np.full_like(X, value))

    assert refused(tmp_path).message == message


def test_an_input_that_is_zero_in_all_samples_is_refused_unless_it_may(tmp_path: Path) -> None:
    for number in (1, 2):
        save(repo(tmp_path) / f"calib/{number}.npz", x=number * X, scale=np.zeros(1))

    error = refused(tmp_path, SCALED)
    run_collect(tmp_path / "allowed", SCALED, patterns=[], random=1)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "repo").symlink_to(repo(tmp_path))
    run_collect(tmp_path / "again", SCALED, may_be_constant=["scale"])

    assert error.message == "'scale' is zero in all samples"
    assert error.hint == (
        "give real inputs; what never changes can be frozen, constants: {scale: …}, "
        "or is allowed by may_be_constant: [scale]"
    )
    assert report(tmp_path / "again")["inputs"]["scale"]["max"] == 0


def test_an_input_that_never_changes_is_refused(tmp_path: Path) -> None:
    graph = model("g (float[1, 4] x, float[2] s) => (float[1, 4] y) { y = Relu (x) }")
    for number in (1, 2):
        save(repo(tmp_path) / f"calib/{number}.npz", x=number * X, s=np.full(2, 0.5))

    assert refused(tmp_path, graph).message == "'s' is 0.5 everywhere, in all samples"


def test_one_number_that_never_changes_is_told(tmp_path: Path) -> None:
    for number in (1, 2):
        save(repo(tmp_path) / f"calib/{number}.npz", x=number * X, scale=np.full(1, 0.5))

    run = run_collect(tmp_path, SCALED)

    assert [notice.message for notice in run.warnings] == ["'scale' is 0.5 in all samples"]


def test_a_state_that_begins_with_zeros_is_told_and_taken(tmp_path: Path) -> None:
    graph = model("g (float[1, 4] x, float[1, 4] h) => (float[1, 4] y) { y = Add (x, h) }")
    for number in (0, 1, 2):
        save(repo(tmp_path) / f"calib/{number}.npz", x=(number + 1) * X, h=number * X)

    run = run_collect(tmp_path, graph)

    assert [notice.message for notice in run.warnings] == [
        "'h' is all zero in 1 of 3 samples: calib/0.npz"
    ]


def test_whole_numbers_beside_floats_may_be_what_they_are(tmp_path: Path) -> None:
    for number in (1, 2):
        save(repo(tmp_path) / f"calib/{number}.npz", x=number * X, ids=np.zeros(3, np.int64))

    run_collect(tmp_path, TWO, may_be_constant=[])

    assert report(tmp_path)["inputs"]["ids"]["max"] == 0


# --- files ------------------------------------------------------------------------------------


def whole(tmp_path: Path) -> bytes:
    save(tmp_path / "whole.npz", x=X)
    return (tmp_path / "whole.npz").read_bytes()


def test_a_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    (repo(tmp_path) / "calib/a.npz").write_bytes(whole(tmp_path)[:200])

    error = refused(tmp_path)

    assert error.message == "'calib/a.npz' is not a whole .npz file"
    assert error.facts == (("size", "200 bytes"),)


def test_a_file_with_a_wrong_byte_is_refused(tmp_path: Path) -> None:
    data = bytearray(whole(tmp_path))
    data[data.index(X.tobytes())] ^= 1
    (repo(tmp_path) / "calib/a.npz").write_bytes(data)

    assert refused(tmp_path).message == "'calib/a.npz' is not a whole .npz file"


def test_an_npy_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    save_npy(repo(tmp_path) / "calib/a.npy", np.stack([X, 2 * X]))
    path = repo(tmp_path) / "calib/a.npy"
    path.write_bytes(path.read_bytes()[:-1])

    assert refused(tmp_path).message == "'calib/a.npy' is not a whole .npy file"


@pytest.mark.parametrize("header", [b"{'descr': '<f4', 'shape': (", b"{'shape': (4,)}", b""])
def test_an_npy_file_with_a_damaged_header_is_refused(header: bytes, tmp_path: Path) -> None:
    path = repo(tmp_path) / "calib/a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)

    assert refused(tmp_path).message == "'calib/a.npy' is not a whole .npy file"


@pytest.mark.parametrize("columns", ["True", "False"])
def test_a_header_that_promises_terabytes_is_not_believed(columns: str, tmp_path: Path) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': {columns}, 'shape': (1000000, 1000000)}}\n"
    path = repo(tmp_path) / "calib/a.npy"
    path.write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)
    )

    assert refused(tmp_path).message in {
        "'calib/a.npy' is not a whole .npy file",
        "'calib/a.npy' is 4,000,000,000,000 bytes in Fortran's order, which are read as a whole",
        "'calib/a.npy' has the shape [1000000, 1000000]",
    }


def test_a_git_lfs_pointer_is_told_as_that(tmp_path: Path) -> None:
    (repo(tmp_path) / "calib/a.npz").write_text("version https://git-lfs.github.com/spec/v1\n")

    error = refused(tmp_path)

    assert error.facts[-1] == ("it is", "a Git LFS pointer")
    assert error.hint == "run git lfs pull"


@pytest.mark.parametrize("pattern", ["calib", "calib/*.npz", "none.npz"])
def test_a_pattern_without_files_is_refused(pattern: str, tmp_path: Path) -> None:
    (repo(tmp_path) / "calib/README.md").write_text("what this is")

    assert refused(tmp_path, patterns=[pattern]).message == f"'{pattern}' has no file of samples"


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (repo(tmp_path) / "calib/a.wav").write_bytes(b"RIFF")

    error = refused(tmp_path, patterns=["calib/*"])

    assert error.message == "'calib/a.wav' is of no form that samples have"
    assert error.hint == "a Python file can read anything: python: {file: feeds.py}"
