"""How a model's bytes are taken in, counted and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from qnnbuild.work import model_bytes
from qnnbuild.work.model_bytes import (
    HEAVY,
    elements,
    give_weights,
    load_side_files,
    save,
    stored_bytes,
    take_weights,
)
from qnnbuild.work.onnx_files import read_whole
from tests.models import scale_model, write_with_side_file


def test_what_is_saved_needs_no_side_file_below_the_limit(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    (tmp_path / "out").mkdir()
    save(read_whole(tmp_path, "m.onnx"), tmp_path / "out", tmp_path)

    assert [file.name for file in (tmp_path / "out").iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("loaded", [False, True], ids=["outside", "inside"])
def test_a_big_model_gets_one_side_file_with_the_same_weights(
    loaded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_bytes, "INLINE_LIMIT", 1000)
    weights = np.arange(1024, dtype=np.float32)
    model = scale_model()
    model.graph.initializer.append(numpy_helper.from_array(weights, "more"))
    onnx.save_model(
        model,
        str(tmp_path / "m.onnx"),
        save_as_external_data=True,
        location="m.data",
        size_threshold=0,
    )
    (tmp_path / "out").mkdir()
    model = read_whole(tmp_path, "m.onnx")
    if loaded:
        load_side_files(model, tmp_path)
    save(model, tmp_path / "out", tmp_path)
    again = read_whole(tmp_path / "out")
    more = next(tensor for tensor in again.graph.initializer if tensor.name == "more")

    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "model.data",
        "model.onnx",
    ]
    assert elements(more, tmp_path / "out").tolist() == weights.tolist()


def test_the_size_counts_what_is_outside(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    model = read_whole(tmp_path, "m.onnx")

    assert stored_bytes(model) == model.ByteSize() + 256


def heavy_model() -> onnx.ModelProto:
    """One weight of HEAVY bytes, one that is smaller."""
    model = scale_model()
    for name, bytes_ in (("heavy", HEAVY), ("light", HEAVY - 4)):
        weights = np.arange(bytes_ // 4, dtype=np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    return model


def test_the_size_of_a_model_with_heavy_weights_is_right_but_for_framing() -> None:
    model = heavy_model()
    model.metadata_props.add(key="made by", value="a test")
    model.functions.add(name="Twice", domain="test", input=["x"], output=["y"])
    model.graph.doc_string = "some words"
    model.graph.value_info.add(name="inner")
    before = model.SerializeToString(deterministic=True)

    assert 0 <= model.ByteSize() - stored_bytes(model) <= 8
    assert model.SerializeToString(deterministic=True) == before


def test_weights_that_were_taken_out_are_given_back() -> None:
    model = heavy_model()
    before = model.SerializeToString(deterministic=True)
    taken = take_weights(model)
    light = model.ByteSize()
    give_weights(model, taken)

    assert [len(data) for data in taken.values()] == [HEAVY]
    assert HEAVY < len(before) - light <= HEAVY + 8
    assert model.SerializeToString(deterministic=True) == before


def test_small_tensors_can_be_taken_in_alone(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    model = read_whole(tmp_path, "m.onnx")
    load_side_files(model, tmp_path, below=256)
    stayed = [tensor.data_location for tensor in model.graph.initializer]
    load_side_files(model, tmp_path, below=257)

    assert stayed == [TensorProto.EXTERNAL]
    assert [tensor.data_location for tensor in model.graph.initializer] == [TensorProto.DEFAULT]
