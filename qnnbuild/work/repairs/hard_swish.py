"""HardSigmoid times its input: in float the HTP computes it wrongly, as docs/operators.md measures.

The plugin tries to fuse the two, is refused, and leaves what it tried behind: HardSigmoid computes
HardSwish, and that is multiplied once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnx import ModelProto, NodeProto, helper

from qnnbuild.work.node_facts import attribute
from qnnbuild.work.repairs.editing import Repair, View
from qnnbuild.work.versions import opset_of

HARDSWISH_SINCE = 14


def apply(model: ModelProto) -> list[str]:
    changed: list[str] = []
    if opset_of(model) < HARDSWISH_SINCE:
        return changed
    view = View.of(model)
    for node, product in list(written_out(model)):
        changed.append(node.name)
        swish = helper.make_node(
            "HardSwish", [node.input[0]], [product.output[0]], name=product.name
        )
        view.replace(product, [swish])
    return changed


def written_out(model: ModelProto) -> Iterator[tuple[NodeProto, NodeProto]]:
    """Each HardSigmoid that is a HardSwish together with the Mul that alone reads it."""
    view = View.of(model)
    for node in [n for n in model.graph.node if n.op_type == "HardSigmoid"]:
        product = view.only_reader(node.output[0], "Mul")
        if product is None or view.other(product, node.output[0]) != node.input[0]:
            continue
        if _is_hard_swish(node):
            yield node, product


def _is_hard_swish(node: NodeProto) -> bool:
    alpha = float(attribute(node, "alpha", 0.2))
    beta = float(attribute(node, "beta", 0.5))
    return math.isclose(alpha, 1 / 6, rel_tol=1e-5) and math.isclose(beta, 0.5, rel_tol=1e-5)


REPAIR = Repair(name="hard-swish", apply=apply)
