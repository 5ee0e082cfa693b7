"""Shapes that the recipe fixes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from qnnbuild.work import model_bytes
from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import fix_shapes, infer
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


def with_heavy_weights() -> ModelProto:
    """A weight whose shape is needed, a reshape whose numbers are, and a branch with both."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 128])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weights = [
        numpy_helper.from_array(np.ones((128, 256), np.float32), "w"),
        numpy_helper.from_array(np.array([4, -1]), "to"),
        numpy_helper.from_array(np.array(True), "yes"),
    ]
    inner = [
        helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for name in ("then", "else")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("If", ["yes"], ["q"], then_branch=inner[0], else_branch=inner[1]),
        helper.make_node("Add", ["p", "q"], ["s"]),
        helper.make_node("Reshape", ["s", "to"], ["y"]),
    ]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], weights))


def test_a_large_table_of_sizes_is_still_read() -> None:
    """Shapes may be computed from whole numbers, however many there are."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tables = [
        numpy_helper.from_array(np.full(1 << 14, 2), "table"),
        numpy_helper.from_array(np.array([0, 1]), "at"),
    ]
    nodes = [
        helper.make_node("Gather", ["table", "at"], ["to"]),
        helper.make_node("Reshape", ["x", "to"], ["y"]),
    ]
    made = helper.make_model(helper.make_graph(nodes, "g", [x], [y], tables))

    assert shape_of(infer(made).graph.output[0]) == (2, 2)


def test_shapes_are_the_same_without_heavy_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model = with_heavy_weights()
    light = infer(model)
    monkeypatch.setattr(model_bytes, "HEAVY", 1 << 30)
    whole = infer(with_heavy_weights())

    assert shape_of(light.graph.output[0]) == (4, 128)
    assert light.SerializeToString(deterministic=True) == whole.SerializeToString(
        deterministic=True
    )
    assert len(model.graph.initializer[0].raw_data) == 128 * 256 * 4
