"""Nodes that stay float in a QDQ model, so that the plugin sees them as float.

Between a DequantizeLinear and a QuantizeLinear any node counts as quantized, whatever its author
meant. A cast to float16 and back is the border that the plugin understands; the NPU computes such
nodes in fp16 anyway.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from qnnbuild.work.walk import all_names, free_name

FP16_MAX = 65504.0


def keep_float(model: ModelProto, kept: set[str]) -> None:
    """Put the nodes called `kept` into float16, with casts where their tensors meet others."""
    inside = [node for node in model.graph.node if node.name in kept]
    if not inside:
        return
    made = {name for node in inside for name in node.output if name}
    floats = _float32(model)
    taken = all_names(model)
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    halves: dict[str, str] = {}
    casts: list[NodeProto] = []
    for node in inside:
        for index, name in enumerate(node.input):
            if name in made or name not in floats:
                continue
            if name not in halves:
                halves[name] = free_name(f"{name}_float16", taken)
                if name in stored:
                    model.graph.initializer.append(_half(stored[name], halves[name]))
                else:
                    casts.append(_cast(name, halves[name], TensorProto.FLOAT16))
            node.input[index] = halves[name]
    casts += _back(model, inside, kept, made & floats, taken)
    model.graph.node.extend(casts)
    _forget(model, made)


def _float32(model: ModelProto) -> set[str]:
    graph = model.graph
    values = [*graph.value_info, *graph.input, *graph.output]
    found = {v.name for v in values if v.type.tensor_type.elem_type == TensorProto.FLOAT}
    found |= {t.name for t in graph.initializer if t.data_type == TensorProto.FLOAT}
    quantizers = [node for node in graph.node if node.op_type == "DequantizeLinear"]
    found |= {node.output[0] for node in quantizers}
    found |= {n.input[0] for n in graph.node if n.op_type == "QuantizeLinear"}
    return found


def _half(tensor: TensorProto, name: str) -> TensorProto:
    array = np.clip(numpy_helper.to_array(tensor), -FP16_MAX, FP16_MAX)
    return numpy_helper.from_array(array.astype(np.float16), name)


def _cast(before: str, after: str, to: int) -> NodeProto:
    return helper.make_node("Cast", [before], [after], name=after, to=to)


def _back(
    model: ModelProto, inside: list[NodeProto], kept: set[str], made: set[str], taken: set[str]
) -> list[NodeProto]:
    """Others, and the graph's outputs, read the tensors under their old names, cast back."""
    read_by_others = {n for node in model.graph.node if node.name not in kept for n in node.input}
    read_by_others |= {value.name for value in model.graph.output}
    casts: list[NodeProto] = []
    for name in sorted(made & read_by_others):
        half = free_name(f"{name}_float16", taken)
        for node in inside:
            for names in (node.input, node.output):
                for index, one in enumerate(names):
                    if one == name:
                        names[index] = half
        casts.append(_cast(half, name, TensorProto.FLOAT))
    return casts


def _forget(model: ModelProto, made: set[str]) -> None:
    """Their types have changed; the runtime infers them anew."""
    kept = [value for value in model.graph.value_info if value.name not in made]
    copies = [type(value).FromString(value.SerializeToString()) for value in kept]
    del model.graph.value_info[:]
    model.graph.value_info.extend(copies)
