"""Recorded outputs, in line with the samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.recorded import recorded
from qnnbuild.work.run import Run, WorkError
from tests.graphs import model
from tests.sampled import repo, save
from tests.working import run_work, written

GRAPH = model("g (float[1, 4] x) => (float[1, 4] y, float[1, 4] z) { y = Relu (x) z = Neg (x) }")
Y = np.ones((1, 4), np.float32)
NAMES = ["calib/a.npz", "calib/b.npz", "calib/c.npz"]


def align(folder: Path, samples: Sequence[str] = NAMES, **said: Any) -> Run:
    told = {"samples": samples, "count": len(samples), "synthetic": False, "at_most": None, **said}
    (folder / "report").mkdir(parents=True)
    (folder / "report" / "report.json").write_text(json.dumps(told))
    return run_work(
        recorded,
        folder,
        params={"patterns": ["refs"]},
        inputs={
            "model": written(GRAPH, folder / "prepared"),
            "files": repo(folder),
            "samples": folder / "report",
        },
        outputs=("recorded", "report"),
    )


def first_of(folder: Path) -> list[float]:
    """The first number of y, for each sample."""
    numbers = []
    for path in sorted((folder / "out" / "recorded").iterdir()):
        with np.load(path) as data:
            numbers.append(float(data["y"].ravel()[0]))
    return numbers


def how(folder: Path) -> Any:
    return json.loads((folder / "out/report/report.json").read_text())


def test_equal_names_belong_together(tmp_path: Path) -> None:
    for number, name in enumerate("cab"):
        save(repo(tmp_path) / f"refs/{name}.npz", y=number * Y)

    align(tmp_path)

    assert first_of(tmp_path) == [1, 2, 0]
    assert how(tmp_path) == {"aligned_by": "name", "count": 3, "outputs": ["y"]}


def test_other_names_belong_together_in_order(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        save(repo(tmp_path) / f"refs/out{number}.npz", y=number * Y, z=Y)

    align(tmp_path)

    assert first_of(tmp_path) == [1, 2, 3]
    assert how(tmp_path) == {"aligned_by": "order", "count": 3, "outputs": ["y", "z"]}


def test_one_file_may_hold_all(tmp_path: Path) -> None:
    save(repo(tmp_path) / "refs/all.npz", y=np.concatenate([Y, 2 * Y, 3 * Y]))

    align(tmp_path, ["calib/all.npz[0]", "calib/all.npz[1]", "calib/all.npz[2]"])

    assert first_of(tmp_path) == [1, 2, 3]
    assert how(tmp_path)["aligned_by"] == "name"


def test_records_of_samples_that_were_not_taken_are_left(tmp_path: Path) -> None:
    for number, name in enumerate("abcd"):
        save(repo(tmp_path) / f"refs/{name}.npz", y=number * Y)

    align(tmp_path, ["calib/a.npz", "calib/b.npz"], at_most=2)

    assert first_of(tmp_path) == [0, 1]


def refused(folder: Path, **said: Any) -> WorkError:
    with pytest.raises(WorkError) as caught:
        align(folder, **said)
    assert caught.value.exit_code == 2
    return caught.value


def test_another_count_is_refused(tmp_path: Path) -> None:
    for number in (1, 2):
        save(repo(tmp_path) / f"refs/{number}.npz", y=number * Y)

    error = refused(tmp_path)

    assert error.message == "the recorded outputs are not those of the samples"
    assert error.place == "reference"
    assert error.facts == (("samples", "3"), ("recorded", "2"))


def test_names_that_are_equal_only_in_part_are_refused(tmp_path: Path) -> None:
    for name in "abd":
        save(repo(tmp_path) / f"refs/{name}.npz", y=Y)

    assert refused(tmp_path).facts == (
        ("samples", "3"),
        ("recorded", "3"),
        ("not recorded", "c"),
        ("of no sample", "d"),
    )


def test_random_inputs_have_no_recorded_outputs(tmp_path: Path) -> None:
    save(repo(tmp_path) / "refs/a.npz", y=Y)

    assert refused(tmp_path, synthetic=True).message == (
        "outputs were recorded, and the inputs are random numbers"
    )


@pytest.mark.parametrize(
    ("arrays", "message", "hint"),
    [
        ({"Y": Y}, "'refs/a.npz' has no array for the output 'y'", "did you mean 'Y'?"),
        ({"y": Y, "Z": Y}, "'refs/a.npz' has no array for the output 'z'", "did you mean 'Z'?"),
        ({"y": Y.ravel()}, "'refs/a.npz': 'y' has the shape [4]", None),
        (
            {"y": Y, "z": np.concatenate([Y, Y])},
            "'refs/a.npz': its arrays do not hold the same number of samples",
            None,
        ),
    ],
)
def test_a_record_that_does_not_fit_is_refused(
    arrays: dict[str, Any], message: str, hint: str | None, tmp_path: Path
) -> None:
    save(repo(tmp_path) / "refs/a.npz", **arrays)

    error = refused(tmp_path)

    assert (error.message, error.hint) == (message, hint)


def test_all_records_have_the_same_outputs(tmp_path: Path) -> None:
    save(repo(tmp_path) / "refs/a.npz", y=Y)
    save(repo(tmp_path) / "refs/b.npz", y=Y, z=Y)

    assert refused(tmp_path).message == "'refs/b.npz' has other outputs than 'refs/a.npz'"


def test_what_is_not_finite_is_told(tmp_path: Path) -> None:
    for name in "abc":
        save(repo(tmp_path) / f"refs/{name}.npz", y=np.full((1, 4), -np.inf))

    run = align(tmp_path)

    assert [notice.message for notice in run.warnings] == [
        "recorded values of 'y' are not all finite"
    ]
