"""Which inner tensors can be looked at, in float and in quantized graphs."""

from __future__ import annotations

import numpy as np

from qnnbuild.work.watched import Watched, ending_in, watched, with_outputs, worst_before
from tests.graphs import inferred, model, text

FLOAT = """g (float[1, 4] x) => (float[1, 4] y) {
  [a] h = Abs (x) [i] k = Cast <to = 6> (h) [b] y = Neg (h) }"""
QUANTIZED = """g (float[1, 4] x) => (float[1, 4] y) {
  q0 = QuantizeLinear (x, s, z) d0 = DequantizeLinear (q0, s, z)
  [a] h = Abs (d0) [r] k = Relu (h)
  q1 = QuantizeLinear (k, s, z) k_DequantizeLinear_Output = DequantizeLinear (q1, s, z)
  [b] y_QuantizeLinear_Input = Neg (k_DequantizeLinear_Output)
  q2 = QuantizeLinear (y_QuantizeLinear_Input, s, z) y = DequantizeLinear (q2, s, z) }"""


def test_of_a_float_graph_every_float_result_can_be_looked_at() -> None:
    found = watched(inferred(model(FLOAT)), {"h", "k", "y"})

    assert found == [
        Watched(node="a", operator="Abs", tensor="h", meant="h"),
        Watched(node="b", operator="Neg", tensor="y", meant="y"),
    ]


def test_of_a_quantized_graph_results_are_read_behind_their_quantizers() -> None:
    found = watched(inferred(model(QUANTIZED, s=np.float32(0.1), z=np.uint8(128))), {"h", "k", "y"})

    assert found == [
        Watched(node="r", operator="Relu", tensor="k_DequantizeLinear_Output", meant="k"),
        Watched(node="b", operator="Neg", tensor="y", meant="y"),
    ]


def test_what_is_looked_at_becomes_an_output_beside_the_others() -> None:
    made = with_outputs(inferred(model(FLOAT)), ["h", "y"])

    assert [value.name for value in made.graph.output] == ["y", "h"]


def test_a_graph_can_end_in_one_layer_alone() -> None:
    made = ending_in(
        inferred(
            model("g (float[4] x, float[4] z) => (float[4] y) { a = Abs (x) y = Add (a, z) }")
        ),
        ["a"],
    )

    assert text(made) == ["a = Abs(x)"]
    assert [value.name for value in made.graph.input] == ["x"]
    assert [value.name for value in made.graph.output] == ["a"]


def test_a_loss_is_told_from_the_worst_of_what_a_layer_is_computed_from() -> None:
    made = model(
        "g (float[4] x) => (float[4] y) { a = Abs (x) b = Neg (x) c = Identity (a) y = Add (c, b) }"
    )
    before = worst_before(made, {"a": 40.0, "b": 50.0, "y": 10.0})

    assert before == {"a": float("inf"), "b": float("inf"), "c": 40.0, "y": 40.0}
