"""Constants, outputs and types at the borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from qnnbuild.work.borders import (
    check_no_doubles,
    constant_array,
    cut_outputs,
    drop_stored_inputs,
    freeze,
    type_borders,
)
from qnnbuild.work.casts import cast_graph
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import dtype_of
from tests.graphs import model, text

CHAIN = "g (float[4] x) => (float[4] y) { a = Relu (x) b = Neg (a) y = Abs (b) c = Exp (a) }"


def test_a_frozen_input_becomes_a_weight() -> None:
    made = model("g (float[4] x, int64 sr) => (float[4] y) { y = Relu (x) }")
    freeze(made, {"sr": 16000})

    assert [value.name for value in made.graph.input] == ["x"]
    assert numpy_helper.to_array(made.graph.initializer[0]).tolist() == 16000


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("int64", 3, 3),
        ("float[2, 2]", 1.5, [[1.5, 1.5], [1.5, 1.5]]),
        ("float[N, 2]", 1.5, [[1.5, 1.5]]),
        ("float[N, 2]", [1, 2, 3, 4], [[1, 2], [3, 4]]),
        ("int32[2]", [1, 2], [1, 2]),
        ("bool", True, True),
    ],
)
def test_a_constant_takes_the_inputs_type_and_shape(kind: str, value: Any, wanted: Any) -> None:
    given = model(f"g ({kind} c) => (float[1] y) {{ y = Cast <to = 1> (c) }}").graph.input[0]

    assert constant_array(given, value).tolist() == wanted


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int64", 0.5, "constant 'c': 0.5 is not int64"),
        ("int8", 300, "constant 'c': 300 is not int8"),
        ("float[3]", [1, 2], "constant 'c' has 2 numbers, the input takes 3"),
    ],
)
def test_a_constant_that_does_not_fit_is_refused(kind: str, value: Any, message: str) -> None:
    given = model(f"g ({kind} c) => (float[1] y) {{ y = Cast <to = 1> (c) }}").graph.input[0]

    with pytest.raises(WorkError) as caught:
        constant_array(given, value)

    assert caught.value.message == message


def test_outputs_can_be_cut_inside_and_put_in_order() -> None:
    made = model(CHAIN)
    cut_outputs(made, ["c", "a"])

    assert [value.name for value in made.graph.output] == ["c", "a"]
    assert text(made) == ["a = Relu(x)", "c = Exp(a)"]


def test_an_output_with_a_typo_gets_a_suggestion() -> None:
    made = model("g (float[4] x) => (float[4] logits) { logits = Relu (x) }")

    with pytest.raises(WorkError) as caught:
        cut_outputs(made, ["logit"])

    assert caught.value.message == "the graph has no tensor 'logit'"
    assert caught.value.hint == "did you mean 'logits'?"


def test_weights_that_old_files_list_as_inputs_are_no_inputs() -> None:
    made = model(
        "g (float[4] x, float[4] w) => (float[4] y) { y = Add (x, w) }", w=np.ones(4, np.float32)
    )
    drop_stored_inputs(made)

    assert [value.name for value in made.graph.input] == ["x"]


def test_an_input_of_another_type_gets_a_cast_inside() -> None:
    made = model("g (int64[2] ids, float[5] t) => (float[2] y) { y = Gather (t, ids) }")
    changed = type_borders(made, {"ids": {"dtype": "int32"}}, {})

    assert changed == {"ids": "int64 → int32"}
    assert dtype_of(made.graph.input[0]) == "int32"
    assert text(made) == ["ids_int64 = Cast(ids)", "y = Gather(t, ids_int64)"]


def test_an_output_of_another_type_gets_a_cast_inside() -> None:
    made = model("g (float[4] x) => (int64[1] y) { y = ArgMax (x) z = Identity (y) }")
    type_borders(made, {}, {"y": "int32"})

    assert dtype_of(made.graph.output[0]) == "int32"
    assert text(made) == ["y_int64 = ArgMax(x)", "z = Identity(y_int64)", "y = Cast(y_int64)"]


def test_a_float_cannot_become_a_whole_number_at_the_border() -> None:
    made = model(CHAIN)

    with pytest.raises(WorkError) as caught:
        type_borders(made, {"x": {"dtype": "int8"}}, {})

    assert caught.value.message == "input 'x' is float32 in the model and cannot become int8"


def test_doubles_anywhere_are_refused_with_the_line_to_write() -> None:
    made = model(
        "g (float[4] x) => (float[4] y) { [c] d = Cast <to = 11> (x) y = Cast <to = 1> (d) }"
    )

    with pytest.raises(WorkError) as caught:
        check_no_doubles(made)

    assert caught.value.message == "node 'c' (Cast) makes doubles, which no NPU computes with"
    assert caught.value.hint == "write cast: {float64: float32}"


def test_a_cast_reaches_weights_borders_and_attributes() -> None:
    made = model(
        "g (double[1] x) => (double[1] y) {"
        " k = Constant <value = double[1] {0.5}> ()"
        " a = Cast <to = 11> (w) b = Add (x, a) y = Mul (b, k) }",
        w=np.ones(1, np.float64),
    )
    cast_graph(made, {"float64": "float32"})

    check_no_doubles(made)
    assert [dtype_of(v) for v in (*made.graph.input, *made.graph.output)] == ["float32", "float32"]
    assert made.graph.node[0].attribute[0].t.data_type == 1


def test_whole_numbers_are_not_cast_through_a_graph() -> None:
    with pytest.raises(WorkError) as caught:
        cast_graph(model(CHAIN), {"int64": "int32"})

    assert caught.value.message == "cast: cannot change 'int64' to 'int32'"
    assert caught.value.hint == (
        "for whole numbers at the borders write inputs: {x: {dtype: int32}}"
    )
