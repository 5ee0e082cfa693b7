"""collect: from whatever the recipe names to one checked .npz a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.run import WorkError
from tests.sampled import (
    IDS,
    ONE,
    TWO,
    X,
    feeds,
    repo,
    report,
    run_collect,
    save,
    save_npy,
    save_raw,
)


def seen(folder: Path) -> list[list[float]]:
    return [sample["x"].ravel().tolist() for sample in feeds(folder)]


def test_the_report_says_what_there_is_and_how_it_lies(tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/b.npz", x=2 * X)
    save(repo(tmp_path) / "calib/a.npz", x=X, extra=X)

    run = run_collect(tmp_path)

    assert seen(tmp_path) == [[1, -2, 3, 0.5], [2, -4, 6, 1]]
    assert run.warnings == []
    assert report(tmp_path) == {
        "at_most": None,
        "casts": {},
        "count": 2,
        "digest": "b84156b85bf0d7a53df34c5cce5597a5f5f550ae67fc7278a335f343fcdd5daf",
        "from": {"files": 2},
        "inputs": {
            "x": {
                "dtype": "float32",
                "max": 6.0,
                "mean": 0.9375,
                "min": -4.0,
                "shape": [1, 4],
                "std": 2.83326,
            }
        },
        "pre_processing": None,
        "samples": ["calib/a.npz", "calib/b.npz"],
        "synthetic": False,
        "unused": ["extra"],
    }


def test_patterns_keep_their_order_and_each_file_is_taken_once(tmp_path: Path) -> None:
    for number, name in enumerate(("z/1", "a/2", "a/10", "a/deep/3"), start=1):
        save(repo(tmp_path) / f"{name}.npz", x=number * X)
    (repo(tmp_path) / "a" / "README.md").write_text("what this is")
    (repo(tmp_path) / "a" / ".3.npz.swp").write_text("an editor's")

    run_collect(tmp_path, patterns=["z/*.npz", "a", "a/2.npz"])

    assert report(tmp_path)["samples"] == [
        "z/1.npz", "a/10.npz", "a/2.npz", "a/deep/3.npz"
    ]  # fmt: skip


@pytest.mark.parametrize("axis", ["in place of the batch", "before it"])
def test_a_leading_axis_holds_samples(axis: str, tmp_path: Path) -> None:
    both = np.concatenate([X, 2 * X])
    save(
        repo(tmp_path) / "calib/a.npz", x=both if axis == "in place of the batch" else both[:, None]
    )

    run_collect(tmp_path)

    assert seen(tmp_path) == [[1, -2, 3, 0.5], [2, -4, 6, 1]]
    assert report(tmp_path)["samples"] == ["calib/a.npz[0]", "calib/a.npz[1]"]


def test_all_arrays_must_hold_the_same_number_of_samples(tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=np.concatenate([X, 2 * X]), ids=IDS)

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, TWO)

    assert (
        caught.value.message == "'calib/a.npz': its arrays do not hold the same number of samples"
    )
    assert caught.value.facts == (("x", "[2, 4]: 2"), ("ids", "[3]: 1"))


def test_an_array_in_columns_is_read_by_rows(tmp_path: Path) -> None:
    save_npy(repo(tmp_path) / "calib/a.npy", np.asfortranarray(np.concatenate([X, 2 * X])))

    run_collect(tmp_path)

    assert seen(tmp_path) == [[1, -2, 3, 0.5], [2, -4, 6, 1]]


def test_an_array_without_a_name_is_the_only_inputs(tmp_path: Path) -> None:
    np.savez(repo(tmp_path) / "calib/a.npz", X)

    run_collect(tmp_path)

    assert seen(tmp_path) == [[1, -2, 3, 0.5]]


def test_equal_samples_are_equal_bytes_however_they_were_packed(tmp_path: Path) -> None:
    save(repo(tmp_path / "a") / "calib/a.npz", x=X)
    np.savez_compressed(repo(tmp_path / "b") / "calib/a.npz", x=X.astype(">f8"))
    for name in ("a", "b"):
        run_collect(tmp_path / name)
    one, two = (tmp_path / n / "out/feeds/000000.npz" for n in ("a", "b"))

    assert one.read_bytes() == two.read_bytes()


# --- files that hold one input ----------------------------------------------------------------


def test_npy_files_of_one_input_are_samples(tmp_path: Path) -> None:
    for number in (1, 2):
        save_npy(repo(tmp_path) / f"calib/{number}.npy", number * X)

    run_collect(tmp_path)

    assert seen(tmp_path) == [[1, -2, 3, 0.5], [2, -4, 6, 1]]


@pytest.mark.parametrize("names", ["{number}/{input}.npy", "{input}/{number}.npy"])
def test_npy_files_of_several_inputs_meet_by_folder_or_name(names: str, tmp_path: Path) -> None:
    for number in (1, 2):
        for name, array in (("x", X), ("ids", IDS)):
            file = names.format(number=number, input=name)
            save_npy(repo(tmp_path) / "calib" / file, number * array)

    run_collect(tmp_path, TWO)

    assert [sample["ids"].tolist() for sample in feeds(tmp_path)] == [[1, 2, 3], [2, 4, 6]]
    assert report(tmp_path)["samples"] == ["calib/1", "calib/2"]


def test_raw_files_hold_what_the_recipe_says(tmp_path: Path) -> None:
    save_raw(repo(tmp_path) / "calib/1.raw", np.stack([X, 2 * X]).astype("<f8"))

    run_collect(tmp_path, raw={"x": {"dtype": "float64", "shape": [2, 1, 4]}})

    assert seen(tmp_path) == [[1, -2, 3, 0.5], [2, -4, 6, 1]]
    assert report(tmp_path)["casts"] == {"x": {"float64 → float32, exact": 2}}


@pytest.mark.parametrize(
    ("count", "hint"),
    [
        (8, "2 samples in one file are the first axis of its shape, [2, …]: "),
        (2, "its elements may be smaller than those of float32: "),
        (3, ""),
    ],
)
def test_a_raw_file_of_another_size_is_refused(count: int, hint: str, tmp_path: Path) -> None:
    save_raw(repo(tmp_path) / "calib/1.raw", np.ones(count, np.float32))

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path)

    assert caught.value.message == f"'calib/1.raw' has {4 * count} bytes, 16 are wanted"
    assert caught.value.place == "samples.inputs.x"
    assert caught.value.hint == (
        f"{hint}say in the recipe what it holds: inputs: {{NAME: {{dtype: …, shape: […]}}}}"
    )


def test_an_input_list_names_the_files_of_each_sample(tmp_path: Path) -> None:
    for number in (1, 2):
        save_raw(repo(tmp_path) / f"calib/raw/{number}.raw", number * X)
    save_raw(repo(tmp_path) / "ids.raw", IDS)
    (repo(tmp_path) / "calib/list.txt").write_text(
        "# two samples\nx:=raw/2.raw ids:=../ids.raw\nraw/1.raw ../ids.raw\n"
    )

    run_collect(tmp_path, TWO, patterns=["calib/list.txt", "calib/raw/*.raw"])

    assert seen(tmp_path) == [[2, -4, 6, 1], [1, -2, 3, 0.5]]
    assert report(tmp_path)["samples"] == ["calib/list.txt:2", "calib/list.txt:3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x:=1.raw", "'calib/list.txt:1' has no file for the input 'ids'"),
        ("1.raw", "'calib/list.txt:1' names 1 files, the graph has 2 inputs"),
        ("x:=2.raw ids:=1.raw", "'calib/list.txt:1' names '2.raw', which is not there"),
        (
            "x:=1.raw 1.raw",
            "'calib/list.txt' is no input_list: line 1: some files have a name and some have none",
        ),
        (
            "x:=../../1.raw",
            "'calib/list.txt' is no input_list: line 1: '../../1.raw' leaves the repo",
        ),
        ("# nothing", "'calib/list.txt' lists no samples"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_sample_is_told(line: str, message: str, tmp_path: Path) -> None:
    save_raw(repo(tmp_path) / "calib/1.raw", X)
    (repo(tmp_path) / "calib/list.txt").write_text(line)

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, TWO, patterns=["calib/list.txt"])

    assert caught.value.message == message


# --- random -----------------------------------------------------------------------------------


def test_random_samples_are_told_as_synthetic(tmp_path: Path) -> None:
    run = run_collect(tmp_path, TWO, patterns=[], random=3, ranges={"ids": [5, 7]})

    assert report(tmp_path)["synthetic"] is True
    assert report(tmp_path)["from"] == {"random": 3}
    assert {number for sample in feeds(tmp_path) for number in sample["ids"]} <= {5, 6, 7}
    assert [notice.message for notice in run.warnings] == [
        "3 of 3 samples are random numbers: ranges that they give are not those of real inputs"
    ]


def test_random_samples_for_verifying_are_told_in_the_report_only(tmp_path: Path) -> None:
    run = run_collect(tmp_path, patterns=[], random=2, tell_random=False)

    assert run.warnings == []
    assert report(tmp_path)["synthetic"] is True


# --- how many ---------------------------------------------------------------------------------


def test_too_few_samples_are_refused(tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=X)

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, at_least=8)

    assert caught.value.message == "1 sample, at least 8 wanted"
    assert (caught.value.place, caught.value.exit_code) == ("samples", 2)


def test_no_more_than_wanted_are_taken(tmp_path: Path) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=np.stack([X, 2 * X, 3 * X]))
    (repo(tmp_path) / "calib/b.npz").write_bytes(b"never read")

    run_collect(tmp_path, at_most=2)

    assert seen(tmp_path) == [[1, -2, 3, 0.5], [2, -4, 6, 1]]


def test_copies_are_told(tmp_path: Path) -> None:
    for name, array in (("a", X), ("b", 2 * X), ("c", X)):
        save(repo(tmp_path) / f"calib/{name}.npz", x=array)

    run = run_collect(tmp_path)

    assert [notice.message for notice in run.warnings] == [
        "1 of 3 samples are copies of others: calib/c.npz = calib/a.npz"
    ]


# --- what the recipe says of inputs that are not there ----------------------------------------


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"raw": {"X": {"dtype": "float32", "shape": [1, 4]}}}, "samples.inputs.X"),
        ({"may_be_constant": ["X"]}, "samples.may_be_constant"),
        ({"images": {
            "input": "X", "resize": None, "crop": None, "mean": [0.0], "std": [1.0],
            "scale": 255.0, "layout": "NCHW", "colour": "RGB",
        }}, "samples.images.input"),
    ],
)  # fmt: skip
def test_an_input_that_is_not_there_gets_a_suggestion(
    params: dict[str, Any], place: str, tmp_path: Path
) -> None:
    save(repo(tmp_path) / "calib/a.npz", x=X)

    with pytest.raises(WorkError) as caught:
        run_collect(tmp_path, ONE, **params)

    assert caught.value.message == "the graph has no input 'X'"
    assert caught.value.hint == "did you mean 'x'?"
    assert caught.value.place == place
