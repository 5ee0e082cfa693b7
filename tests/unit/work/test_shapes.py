"""Shapes that the recipe fixes."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import fix_shapes
from qnnbuild.work.walk import shape_of


def model_with_input(*sizes: int | str) -> ModelProto:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(sizes))
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    return helper.make_model(helper.make_graph([node], "g", [given], [made]))


def test_sizes_that_are_written_as_a_question_mark_may_differ() -> None:
    model = model_with_input(-1, 3, "?", "?")

    fix_shapes(model, {"x": {"shape": [1, 3, 48, 192]}})

    assert shape_of(model.graph.input[0]) == (1, 3, 48, 192)


def test_sizes_with_one_name_may_not_differ() -> None:
    model = model_with_input("n", "n")

    with pytest.raises(WorkError) as told:
        fix_shapes(model, {"x": {"shape": [4, 8]}})

    assert told.value.message == "input 'x': 'n' cannot be 4 and 8"
