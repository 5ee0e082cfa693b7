"""Types, forms and neighbours of a graph's nodes."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.work.node_facts import NodeFacts
from tests.graphs import inferred, model

QDQ = """g (float[4] x) => (float[4] y) {
  xq = QuantizeLinear (x, s, z)  xd = DequantizeLinear (xq, s, z)  [relu] r = Relu (xd)
  rq = QuantizeLinear (r, s, z)  rd = DequantizeLinear (rq, s, z)  [neg] n = Neg (rd)
  nq = QuantizeLinear (n, s, z)  y = DequantizeLinear (nq, s, z)
}"""
SCALE = np.array(0.1, np.float32)


def named(facts: NodeFacts, name: str) -> int:
    return next(i for i, node in enumerate(facts.nodes) if node.name == name)


@pytest.mark.parametrize(("zero", "form"), [(np.uint8, "a8"), (np.uint16, "a16")])
def test_between_quantizers_the_zero_point_is_the_form(zero: type, form: str):
    facts = NodeFacts(inferred(model(QDQ, opset=21, s=SCALE, z=np.array(0, zero))))

    assert facts.form(facts.nodes[named(facts, "relu")], 0) == form


@pytest.mark.parametrize(("kind", "form"), [("float", "f32"), ("int64", "i64"), ("double", "")])
def test_else_the_type_is(kind: str, form: str):
    facts = NodeFacts(inferred(model(f"g ({kind}[4] x) => ({kind}[4] y) {{ y = Abs (x) }}")))

    assert facts.form(facts.nodes[0], 0) == form


def test_the_next_layer_is_behind_the_quantizers():
    facts = NodeFacts(inferred(model(QDQ, opset=21, s=SCALE, z=np.array(0, np.uint8))))
    relu = facts.nodes[named(facts, "relu")]
    follows, reads = facts.next_layer(relu), facts.only_reader(relu)

    assert follows is not None
    assert reads is not None
    assert (follows.op_type, reads.op_type) == ("Neg", "QuantizeLinear")


def test_what_is_dequantized_from_a_stored_tensor_is_constant():
    text = "g (float[4] x) => (float[4] y) { w = DequantizeLinear (q, s, z) y = Add (x, w) }"
    stored = {"q": np.zeros(4, np.int8), "z": np.array(0, np.int8)}
    made = model(text, s=SCALE, q=stored["q"], z=stored["z"])
    facts = NodeFacts(inferred(made))

    assert facts.is_constant("w")
    assert not facts.is_constant("x")
