"""Clip with a computed bound: the plugin wants constants there, Max and Min take anything."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, helper

from qnnbuild.work.repairs.editing import Repair, View


def apply(model: ModelProto) -> list[str]:
    view = View.of(model)
    computed = [
        node
        for node in model.graph.node
        if node.op_type == "Clip" and any(n and view.constant(n) is None for n in node.input[1:])
    ]
    names = [node.name for node in computed]
    for node in computed:
        view.replace(node, _written_out(view, node))
    return names


def _written_out(view: View, node: NodeProto) -> list[NodeProto]:
    """max(x, low), then min(…, high): Clip's own order when the bounds cross."""
    bounds = [*node.input[1:], "", ""][:2]
    steps = [(kind, bound) for kind, bound in zip(("Max", "Min"), bounds, strict=True) if bound]
    new: list[NodeProto] = []
    current = node.input[0]
    for kind, bound in steps:
        is_last = kind == steps[-1][0]
        made = node.output[0] if is_last else view.free(f"{node.output[0]}_{kind.lower()}")
        name = node.name if is_last else f"{node.name}_{kind.lower()}"
        new.append(helper.make_node(kind, [current, bound], [made], name=name))
        current = made
    return new


REPAIR = Repair(name="clip-bounds", apply=apply)
