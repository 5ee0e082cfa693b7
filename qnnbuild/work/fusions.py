"""Patterns of nodes that must be one node before they are quantized.

The plugin fuses them in float models only; each part of them in 8 bits would lose too much, and
of some parts (Erf) there is no quantized form at all. The fusions are onnxruntime's own; the rest
of its `qnn_preprocess_model` is done by prepare, and raises TypeError on models with metadata.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization.execution_providers.qnn.fusion_lpnorm import FusionLpNormalization
from onnxruntime.quantization.execution_providers.qnn.fusion_spacetodepth import FusionSpaceToDepth
from onnxruntime.quantization.fusions import FusionGelu, FusionLayerNormalization
from onnxruntime.quantization.onnx_model import ONNXModel

from qnnbuild.work.names import name_nodes, sort_nodes
from qnnbuild.work.versions import complete_imports, opset_of

LAYERNORM_SINCE = 17


def store_constants(model: ModelProto) -> None:
    """Constant nodes become stored tensors: only these count as weights and biases."""
    outputs = {value.name for value in model.graph.output}
    kept: list[NodeProto] = []
    for node in model.graph.node:
        tensor = _tensor(node) if node.op_type == "Constant" else None
        if tensor is None or node.output[0] in outputs:
            kept.append(NodeProto.FromString(node.SerializeToString()))
        else:
            tensor.name = node.output[0]
            model.graph.initializer.append(tensor)
    del model.graph.node[:]
    model.graph.node.extend(kept)


def _tensor(constant: NodeProto) -> TensorProto | None:
    """What the node says, as a tensor; None for what is no number."""
    (said,) = constant.attribute
    if said.name == "value":
        tensor = TensorProto()
        tensor.CopyFrom(said.t)
        return tensor
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64,
             "value_ints": np.int64}  # fmt: skip
    if said.name not in kinds:
        return None
    return numpy_helper.from_array(np.array(helper.get_attribute_value(said), kinds[said.name]))


def flatten_biases(model: ModelProto) -> None:
    """A Gemm's bias of one row becomes a vector, which means the same to it.

    A simplifier makes such rows of MatMul and Add. onnxruntime's quantizer compares a channel's
    bias with its scale and fails when that is a row: "truth value of an array is ambiguous".
    """
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    used: dict[str, list[bool]] = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            used.setdefault(name, []).append(node.op_type == "Gemm" and index == 2)
    for name, tensor in stored.items():
        if len(tensor.dims) == 2 and tensor.dims[0] == 1 and all(used.get(name, [False])):
            length = tensor.dims[1]
            del tensor.dims[:]
            tensor.dims.append(length)


def fuse(model: ModelProto) -> None:
    """GELU, LpNormalization, SpaceToDepth and, where the opset has it, LayerNormalization."""
    store_constants(model)
    flatten_biases(model)
    wrapped = ONNXModel(model)
    FusionGelu(wrapped).apply()
    FusionLpNormalization(wrapped).apply()
    FusionSpaceToDepth(wrapped).apply()
    if opset_of(model) >= LAYERNORM_SINCE:
        FusionLayerNormalization(wrapped).apply()
    wrapped.clean_initializers()
    complete_imports(model)
    sort_nodes(model)
    name_nodes(model)
