"""A variance of small numbers: fp16 loses squares below 6e-8, so they are taken of scaled numbers.

d / sqrt(mean(d²) + ε)  =  k·d / sqrt(mean((k·d)²) + k²·ε)
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, helper

from qnnbuild.work.repairs.editing import Repair, View

SCALE = 16.0
"""A power of two, so that float32 answers keep their bits; |d| up to 16 stays inside fp16."""


def apply(model: ModelProto) -> list[str]:
    changed: list[str] = []
    for name in [node.name for node in model.graph.node if node.op_type == "Sqrt"]:
        view = View.of(model)
        root = next(node for node in model.graph.node if node.name == name)
        if _scale(view, root):
            changed.append(name)
    return changed


def _scale(view: View, root: NodeProto) -> bool:
    added = view.maker(root.input[0], "Add")
    if added is None or view.only_reader(added.output[0], "Sqrt") is None:
        return False
    for mean_at, epsilon_at in ((0, 1), (1, 0)):
        epsilon = view.constant(added.input[epsilon_at])
        mean = view.maker(added.input[mean_at], "ReduceMean", "GlobalAveragePool")
        squared = view.maker(mean.input[0], "Mul", "Pow") if mean is not None else None
        if epsilon is None or mean is None or squared is None:
            continue
        d = squared.input[0]
        alone = view.only_reader(mean.output[0], "Add") and view.only_reader(
            squared.output[0], "ReduceMean", "GlobalAveragePool"
        )
        users = [view.only_reader(root.output[0], "Div", "Reciprocal")]
        if not alone or not _is_square(view, squared) or users[0] is None:
            continue
        end = _divides(view, users[0], root.output[0], d)
        if end is None:
            continue
        k = view.store(f"{d}_scale", np.asarray(SCALE, epsilon.dtype))
        scaled = view.free(f"{d}_scaled")
        by_k = helper.make_node("Mul", [d, k], [scaled], name=f"{squared.name}_scaled")
        wanted = view.store(
            f"{added.output[0]}_epsilon", (epsilon * SCALE**2).astype(epsilon.dtype)
        )
        added.input[epsilon_at] = wanted
        _rewire(end, d, scaled)
        again = NodeProto()
        again.CopyFrom(squared)
        _rewire(again, d, scaled)
        view.replace(squared, [by_k, again])
        return True
    return False


def _is_square(view: View, node: NodeProto) -> bool:
    if node.op_type == "Mul":
        return bool(node.input[0] == node.input[1])
    return view.number(node.input[1]) == 2


def _divides(view: View, user: NodeProto, root: str, d: str) -> NodeProto | None:
    """The node that computes d / root, directly or by the reciprocal."""
    if user.op_type == "Div":
        return user if list(user.input) == [d, root] else None
    end = view.only_reader(user.output[0], "Mul")
    return end if end is not None and d in end.input else None


def _rewire(node: NodeProto, old: str, new: str) -> None:
    for index, name in enumerate(node.input):
        if name == old:
            node.input[index] = new


REPAIR = Repair(name="scaled-variance", apply=apply)
