"""GatherND with constant indices: a Reshape and a Gather say the same, and are taken."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, helper

from qnnbuild.work.repairs.editing import Array, Repair, View, attribute
from qnnbuild.work.walk import shape_of


def apply(model: ModelProto) -> list[str]:
    view = View.of(model)
    shapes = {v.name: shape_of(v) for v in [*model.graph.value_info, *model.graph.input]}
    changed: list[str] = []
    for node in [n for n in model.graph.node if n.op_type == "GatherND"]:
        indices = view.constant(node.input[1])
        shape = shapes.get(node.input[0])
        if indices is None or shape is None or attribute(node, "batch_dims", 0) != 0:
            continue
        sizes = [size for size in shape if isinstance(size, int)]
        if len(sizes) == len(shape):
            changed.append(node.name)
            view.replace(node, _rewritten(view, node, indices, sizes))
    return changed


def _rewritten(view: View, node: NodeProto, indices: Array, sizes: list[int]) -> list[NodeProto]:
    """The first axes of the data become one, and so do the indices into them."""
    depth = indices.shape[-1]
    first = np.asarray(sizes[:depth], np.int64)
    positive = np.where(indices < 0, indices + first, indices)
    strides = np.asarray([np.prod(first[i + 1 :], dtype=np.int64) for i in range(depth)], np.int64)
    flat = np.asarray((positive * strides).sum(axis=-1), np.int64)
    out = node.output[0]
    target = np.asarray([int(first.prod()), *sizes[depth:]], np.int64)
    joined = view.free(f"{out}_joined")
    return [
        helper.make_node(
            "Reshape",
            [node.input[0], view.store(f"{out}_shape", target)],
            [joined],
            name=f"{node.name}_joined",
        ),
        helper.make_node(
            "Gather", [joined, view.store(f"{out}_indices", flat)], [out], name=node.name, axis=0
        ),
    ]


REPAIR = Repair(name="gather-nd", apply=apply)
