"""Where a graph has nodes that become one QNN operator together."""

from __future__ import annotations

from typing import Any

import numpy as np

from qnnbuild.work.chains import CONDITIONS
from qnnbuild.work.plugin_fusions import expected_fusions, table
from tests.graphs import inferred, model

HALF, ONE, TWO = (np.array(v, np.float32) for v in (0.5, 1.0, 2.0))
ROOT_TWO = np.array(1.41421356, np.float32)
GELU = "d = Div (x, r)  e = Erf (d)  p = Add (e, one)  m = Mul (x, p)  y = Mul (m, half)"


def test_every_row_says_who_fuses_and_uses_known_conditions():
    for row in table():
        assert row.by in ("plugin", "onnxruntime", "nobody"), row.name
        assert set(row.where) <= set(CONDITIONS), row.name


def test_a_gelu_that_is_written_out_is_one():
    made = inferred(
        model(f"g (float[4] x) => (float[4] y) {{ {GELU} }}", r=ROOT_TWO, one=ONE, half=HALF)
    )
    (found,) = expected_fusions(made)

    assert (found.fusion, found.by, found.qnn) == ("GeluFusion", "plugin", "Gelu")
    assert len(found.nodes) == 5


def test_a_gelu_whose_half_comes_before_its_input_is_one():
    """As PyTorch's exporter writes it; the op trace of such a model shows one Gelu."""
    nodes = "d = Div (x, r)  e = Erf (d)  p = Add (e, one)  m = Mul (half, p)  y = Mul (x, m)"
    made = inferred(
        model(f"g (float[4] x) => (float[4] y) {{ {nodes} }}", r=ROOT_TWO, one=ONE, half=HALF)
    )
    (found,) = expected_fusions(made)

    assert (found.fusion, len(found.nodes)) == ("GeluFusion", 5)


def test_from_opset_20_on_onnx_runtime_is_first():
    text = f"g (float[4] x) => (float[4] y) {{ {GELU} }}"
    made = inferred(model(text, opset=20, r=ROOT_TWO, one=ONE, half=HALF))

    assert [one.by for one in expected_fusions(made)] == ["onnxruntime"]


def test_another_number_makes_it_none():
    made = inferred(
        model(f"g (float[4] x) => (float[4] y) {{ {GELU} }}", r=TWO, one=ONE, half=HALF)
    )

    assert expected_fusions(made) == []


def test_a_scaled_softmax_takes_its_scale():
    made = inferred(
        model("g (float[4] x) => (float[4] y) { [m] m = Mul (x, k) [s] y = Softmax (m) }", k=HALF)
    )

    assert [one.nodes for one in expected_fusions(made)] == [("m", "s")]


def test_a_result_that_somebody_else_reads_is_not_fused():
    text = "g (float[4] x) => (float[4] y, float[4] m) { m = Mul (x, k) y = Softmax (m) }"
    made = inferred(model(text, k=HALF))

    assert expected_fusions(made) == []


def test_a_reshape_in_front_of_a_gemm_goes_into_it_and_the_longest_chain_counts():
    text = """g (float[1, 8, 16] x) => (float[1, 8, 4] y) {
      [r] r = Reshape (x, s)  [g] g = Gemm (r, w)  [t] y = Reshape (g, t)
    }"""
    weights = np.zeros((16, 4), np.float32)
    made = inferred(model(text, s=np.array([8, 16]), t=np.array([1, 8, 4]), w=weights))

    assert [one.nodes for one in expected_fusions(made)] == [("r", "g", "t")]


def test_integers_are_multiplied_behind_a_dynamic_quantizer_only():
    pattern = """[q] q, s, z = DynamicQuantizeLinear (x)  [i] i = MatMulInteger (q, w, z, wz)
      [f] f = Cast <to = 1> (i)  [k] k = Mul (s, ws)  [y] y = Mul (f, k)"""
    weights: dict[str, Any] = {
        "w": np.zeros((4, 4), np.int8),
        "wz": np.array(0, np.int8),
        "ws": HALF,
    }
    made = inferred(model(f"g (float[2, 4] x) => (float[2, 4] y) {{ {pattern} }}", **weights))

    assert [set(one.nodes) for one in expected_fusions(made)] == [{"q", "i", "f", "k", "y"}]


def test_what_no_compile_showed_is_not_expected():
    text = """g (float[4] x) => (float[4] y) {
      h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)  y = Mul (x, h)
    }"""

    assert expected_fusions(inferred(model(text))) == []
