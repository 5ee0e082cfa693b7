"""Sample inputs, random and given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qnnbuild.work.run import WorkError
from qnnbuild.work.samples import random_array, samples_for
from tests.graphs import model

MADE = model("g (float[2, 3] x, int64[4] ids) => (float[2, 3] y) { y = Relu (x) }")
X, IDS = MADE.graph.input


def test_random_numbers_depend_on_the_name_and_the_turn_only() -> None:
    first = random_array(X, {}, 0)

    assert first.tolist() == random_array(X, {}, 0).tolist()
    assert first.tolist() != random_array(X, {}, 1).tolist()


def test_random_numbers_are_the_same_on_every_machine() -> None:
    assert np.round(random_array(X, {}, 0).astype(float), 4).tolist() == [
        [-0.6032, -0.9126, 0.224],
        [-0.3634, -0.3199, 0.5822],
    ]


def test_whole_numbers_are_small_unless_a_range_is_given() -> None:
    wide = random_array(IDS, {"range": [7, 9]}, 0)

    assert set(random_array(IDS, {}, 0).tolist()) <= {0, 1}
    assert set(wide.tolist()) <= {7, 8, 9}
    assert wide.dtype == np.int64


def test_a_range_of_floats_is_kept() -> None:
    numbers = random_array(X, {"range": [5.0, 6.0]}, 0)

    assert numbers.min() >= 5
    assert numbers.max() <= 6


def test_given_files_are_read_in_order_and_get_the_models_types(tmp_path: Path) -> None:
    for number in (2, 1):
        np.savez(tmp_path / f"{number}.npz", x=np.full((2, 3), number), ids=np.zeros(4))
    samples = samples_for(MADE, tmp_path, {})

    assert [sample["x"][0, 0] for sample in samples] == [1, 2]
    assert [samples[0][name].dtype for name in ("x", "ids")] == [np.float32, np.int64]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 3))}, "'a.npz' has no array for the input 'ids'"),
        ({"x": np.zeros((3, 2)), "ids": np.zeros(4)}, "'a.npz': 'x' has the shape [3, 2]"),
        (
            {"x": np.full((2, 3), np.nan), "ids": np.zeros(4)},
            "'a.npz': 'x' has values that are not finite",
        ),
    ],
)
def test_a_sample_that_does_not_fit_is_refused(
    arrays: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]

    with pytest.raises(WorkError) as caught:
        samples_for(MADE, tmp_path, {})

    assert caught.value.message == message


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04cut")

    with pytest.raises(WorkError) as caught:
        samples_for(MADE, tmp_path, {})

    assert caught.value.message == "'a.npz' is not a whole .npz file"
