"""Weights in fewer bits, activations float: each weight becomes whole numbers and their scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType
from onnxruntime.quantization.quant_utils import (
    compute_data_quant_params,
    quantize_onnx_initializer,
)

from qnnbuild.work.versions import opset_of
from qnnbuild.work.walk import all_names, free_name
from qnnbuild.work.widths import Overrides

LEAST_ELEMENTS = 256
"""Smaller weights save nothing."""

MICROSOFT = "com.microsoft"


def quantize_weights(
    model: ModelProto,
    kind: QuantType,
    *,
    per_channel: bool,
    symmetric: bool,
    skipped: set[str],
    overrides: Overrides,
) -> list[str]:
    """Put a DequantizeLinear behind each weight of the nodes not `skipped`; gives their names."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    places: dict[str, list[tuple[NodeProto, int]]] = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            tensor = stored.get(name)
            if tensor is not None and _is_weight(node, index, tensor) and node.name not in skipped:
                places.setdefault(name, []).append((node, index))
    taken, made = all_names(model), list[NodeProto]()
    for name, uses in places.items():
        chosen = (overrides.get(name) or [{}])[0]
        own: QuantType = chosen.get("quant_type", kind)
        axis = chosen.get("axis", _axis(*uses[0], stored[name]) if per_channel else None)
        parts = _quantized(stored[name], own, axis, chosen.get("symmetric", symmetric), taken)
        output = free_name(f"{name}_dequantized", taken)
        made.append(_dequantizer(model, output, parts, own, axis))
        for node, index in uses:
            node.input[index] = output
        model.graph.initializer.extend(parts)
    _put_first(model, made)
    _drop_unread(model, set(places))
    return list(places)


def _is_weight(node: NodeProto, index: int, tensor: TensorProto) -> bool:
    if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < LEAST_ELEMENTS:
        return False
    if node.op_type == "MatMul":
        return True
    if node.op_type == "Gather":
        return index == 0
    return index == 1 and node.op_type in ("Conv", "ConvTranspose", "Gemm")


def _axis(node: NodeProto, index: int, tensor: TensorProto) -> int:
    """The axis of output channels."""
    if node.op_type == "MatMul":
        return len(tensor.dims) - 1 if index == 1 else len(tensor.dims) - 2
    if node.op_type == "ConvTranspose":
        return 1
    if node.op_type == "Gemm":
        return 0 if any(a.name == "transB" and a.i for a in node.attribute) else 1
    return 0


def _quantized(
    tensor: TensorProto, kind: QuantType, axis: int | None, symmetric: bool, taken: set[str]
) -> list[TensorProto]:
    """The whole numbers, the scale and the zero point."""
    array = numpy_helper.to_array(tensor)
    rows = [array] if axis is None else [array.take(i, axis) for i in range(array.shape[axis])]
    found = [
        compute_data_quant_params(row.ravel(), kind.tensor_type, symmetric, min_real_range=1e-4)
        for row in rows
    ]
    shape: tuple[int, ...] = () if axis is None else (len(rows),)
    zeros = np.array([int(zero) for zero, _ in found]).reshape(shape)
    scales = np.array([float(scale) for _, scale in found], np.float32).reshape(shape)
    whole = quantize_onnx_initializer(tensor, kind.tensor_type, zeros, scales, axis)
    whole.name = free_name(f"{tensor.name}_quantized", taken)
    zero_name = free_name(f"{tensor.name}_zero_point", taken)
    return [
        whole,
        numpy_helper.from_array(scales, free_name(f"{tensor.name}_scale", taken)),
        helper.make_tensor(zero_name, kind.tensor_type, shape, zeros.ravel().tolist()),
    ]


def _dequantizer(
    model: ModelProto, output: str, parts: list[TensorProto], kind: QuantType, axis: int | None
) -> NodeProto:
    is_byte = kind in (QuantType.QInt8, QuantType.QUInt8)
    since = 13 if is_byte else 21  # opsets from which ONNX's own operator has axis, and these types
    domain = "" if opset_of(model) >= since else MICROSOFT
    if domain and not any(one.domain == domain for one in model.opset_import):
        model.opset_import.append(helper.make_opsetid(domain, 1))
    named: dict[str, Any] = {} if axis is None else {"axis": axis}
    inputs = [part.name for part in parts]
    return helper.make_node(
        "DequantizeLinear", inputs, [output], name=output, domain=domain, **named
    )


def _put_first(model: ModelProto, made: list[NodeProto]) -> None:
    rest = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend([*made, *rest])


def _drop_unread(model: ModelProto, names: set[str]) -> None:
    read = {name for node in model.graph.node for name in node.input}
    read |= {value.name for value in model.graph.output}
    kept = [
        tensor
        for tensor in model.graph.initializer
        if tensor.name in read or tensor.name not in names
    ]
    copies = [TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del model.graph.initializer[:]
    model.graph.initializer.extend(copies)
