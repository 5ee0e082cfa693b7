"""Calibration files lie as the converted input does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qnnbuild.work.npz import write_npz
from qnnbuild.work.qairt_samples import Input, found_order, guess, write_samples
from qnnbuild.work.run import WorkError

X = Input(name="x", dtype="float32", shape=(1, 80, 100))


def test_floats_of_three_dimensions_are_foreseen_channel_last() -> None:
    assert guess(X, ()) == (0, 2, 1)
    assert guess(X, ("x",)) == (0, 1, 2)
    assert guess(Input(name="i", dtype="int32", shape=(1, 2, 3)), ()) == (0, 1, 2)
    assert guess(Input(name="f", dtype="float32", shape=(1, 3, 4, 5)), ()) == (0, 2, 3, 1)
    assert guess(Input(name="m", dtype="float32", shape=(4,)), ()) == (0,)


def test_the_converted_graph_decides() -> None:
    assert found_order(X, {"dims": [1, 80, 100]}, (0, 2, 1)) == (0, 1, 2)
    assert found_order(X, {"current_dims": [1, 100, 80]}, (0, 2, 1)) == (0, 2, 1)
    assert found_order(X, {"dims": [100, 1, 80]}, (0, 2, 1)) == (2, 0, 1)


def test_where_sizes_are_equal_what_it_tells_decides() -> None:
    square = Input(name="x", dtype="float32", shape=(1, 8, 8))

    assert found_order(square, {"dims": [1, 8, 8]}, (0, 2, 1)) == (0, 2, 1)
    told = {"dims": [1, 8, 8], "permute_order_to_src": [0, 1, 2]}
    assert found_order(square, told, (0, 2, 1)) == (0, 1, 2)


def test_the_order_to_the_source_is_turned_round() -> None:
    image = Input(name="x", dtype="float32", shape=(1, 3, 4, 5))
    told = {"dims": [1, 4, 5, 3], "permute_order_to_src": [0, 3, 1, 2]}

    assert found_order(image, told, (0, 1, 2, 3)) == (0, 2, 3, 1)


def test_other_sizes_are_an_error() -> None:
    with pytest.raises(WorkError, match="gave the input 'x' other sizes"):
        found_order(X, {"dims": [1, 80, 99]}, (0, 2, 1))


def test_files_have_the_inputs_own_types_and_are_listed_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    x = np.arange(24, dtype=np.float32).reshape(1, 4, 6)
    tokens = np.arange(4, dtype=np.int32)
    for number in (0, 1):
        write_npz(feeds / f"{number:06}.npz", {"tokens": tokens, "x": x + number})
    inputs = [
        Input(name="x", dtype="float32", shape=(1, 4, 6)),
        Input(name="tokens", dtype="int32", shape=(4,)),
    ]

    count = write_samples(feeds, inputs, {"x": (0, 2, 1), "tokens": (0,)}, Path("list.txt"))

    assert count == 2
    assert Path("list.txt").read_bytes() == (
        b"samples/000000-0.raw samples/000000-1.raw\nsamples/000001-0.raw samples/000001-1.raw\n"
    )
    made = np.fromfile("samples/000001-0.raw", np.float32).reshape(1, 6, 4)
    assert np.array_equal(made, (x + 1).transpose(0, 2, 1))
    assert np.array_equal(np.fromfile("samples/000000-1.raw", np.int32), tokens)
