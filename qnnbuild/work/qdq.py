"""What a QDQ model holds: recognised before quantizing, read and judged afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from qnnbuild.work.model_bytes import elements
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import made_by

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
QUANTIZERS = (QUANTIZE, DEQUANTIZE)

PIECE = 1 << 20
"""Elements that are looked at together."""

BITS = {"INT4": 4, "UINT4": 4, "INT8": 8, "UINT8": 8, "INT16": 16, "UINT16": 16, "INT32": 32}


@dataclass(frozen=True, kw_only=True)
class Quantized:
    """One tensor in whole numbers."""

    name: str  # the float tensor's
    dtype: str
    scales: np.ndarray[Any, np.dtype[Any]]
    zeros: np.ndarray[Any, np.dtype[Any]]
    axis: int | None
    stored: str | None  # the name of the weight's whole numbers


def check_float(model: ModelProto) -> int:
    """Refuse a model whose activations are quantized; counts the weights that are already."""
    from_stored = _from_stored(model)
    weights = 0
    for node in model.graph.node:
        if node.op_type not in QUANTIZERS:
            continue
        if node.input[0] not in from_stored:
            count = sum(one.op_type in QUANTIZERS for one in model.graph.node)
            raise WorkError(
                "the model is quantized already",
                place="precision",
                facts=[("it has", f"{count} {QUANTIZE} or {DEQUANTIZE}"), ("first", node.name)],
                hint="precision: qdq takes it as it is",
                exit_code=2,
            )
        weights += node.op_type == DEQUANTIZE
    return weights


def _from_stored(model: ModelProto) -> set[str]:
    """Stored tensors, and what quantizers make of nothing but them: weights of another tool."""
    known = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" or (
            node.op_type in QUANTIZERS and all(name in known for name in node.input if name)
        ):
            known.update(node.output)
    return known


def quantized_tensors(model: ModelProto) -> Iterator[Quantized]:
    """Every tensor behind a DequantizeLinear with a stored scale, by the name it had as a float."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = made_by(model.graph)
    outputs = {value.name for value in model.graph.output}
    for node in model.graph.node:
        scale = stored.get(node.input[1]) if node.op_type == DEQUANTIZE else None
        if scale is None:
            continue
        zero = stored.get(node.input[2]) if len(node.input) > 2 else None
        kept = stored.get(node.input[0])
        name = node.output[0]
        while name not in outputs and _quantizes(makers, name):
            name = makers[makers[name].input[0]].input[0]
        kind = zero if zero is not None else kept
        yield Quantized(
            name=name,
            dtype=TensorProto.DataType.Name(kind.data_type) if kind is not None else "UINT8",
            scales=numpy_helper.to_array(scale).astype(np.float64),
            zeros=numpy_helper.to_array(zero).astype(np.int64) if zero is not None else np.zeros(1),
            axis=next((a.i for a in node.attribute if a.name == "axis"), None),
            stored=node.input[0] if kept is not None else None,
        )


def _quantizes(makers: Mapping[str, NodeProto], name: str) -> bool:
    """Whether `name` is nothing but another tensor that was quantized and dequantized."""
    last = makers.get(name)
    if last is None or last.op_type != DEQUANTIZE:
        return False
    first = makers.get(last.input[0])
    return first is not None and first.op_type == QUANTIZE


def check_scales(model: ModelProto) -> None:
    """The compiler takes a scale of 0 or NaN and computes garbage with it."""
    for one in quantized_tensors(model):
        bad = one.scales[~(np.isfinite(one.scales) & (one.scales > 0))]
        if bad.size:
            raise WorkError(
                f"the scale of '{one.name}' is {bad.flat[0]:g}",
                place="calibration",
                facts=[("scales like this", f"{bad.size} of {one.scales.size}")],
                hint="quantize with samples that are not all the same, or give the tensor a range: "
                f"overrides: {{{one.name}: {{rmin: …, rmax: …}}}}",
                exit_code=5,
            )


def tell_saturated(
    run: Run, made: ModelProto, before: ModelProto, folder: Path, *, but: Sequence[str] = ()
) -> dict[str, float]:
    """Weights that their scale cuts: name → the share of elements, told and given.

    `folder` has the side files of `before`.
    """
    stored = {tensor.name: tensor for tensor in before.graph.initializer if tensor.name not in but}
    found: dict[str, float] = {}
    for one in quantized_tensors(made):
        tensor = stored.get((one.stored or "").removesuffix("_quantized"))
        if (
            tensor is None
            or tensor.data_type != TensorProto.FLOAT
            or BITS.get(one.dtype, 32) == 32
            or one.scales.ndim > 1
        ):
            continue
        array = elements(tensor, folder).reshape(tuple(tensor.dims))
        share = _share_beyond(array, one)
        if share > 0:
            found[tensor.name] = share
            run.warn(
                f"{share:.2%} of the weight '{tensor.name}' is cut by the range of its scale",
                place="precision",
            )
    return found


def _share_beyond(array: np.ndarray[Any, Any], one: Quantized) -> float:
    """The share of elements more than half a step outside of what the whole numbers can say.

    Some rows at a time: doubles take more room than the weight itself.
    """
    bits = BITS[one.dtype]
    low, high = (
        (0, 2**bits - 1) if one.dtype[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
    array, scales, zeros = (np.atleast_1d(many) for many in (array, one.scales, one.zeros))
    if one.axis is not None and scales.size > 1:
        shape = [1] * array.ndim
        shape[one.axis] = scales.size
        scales, zeros = scales.reshape(shape), zeros.reshape(shape)
    rows = max(1, PIECE * len(array) // max(1, array.size))
    cut = 0
    for begin in range(0, len(array), rows):
        here = slice(begin, begin + rows)
        scale, zero = (many[here] if len(many) > 1 else many for many in (scales, zeros))
        whole = array[here].astype(np.float64) / scale + zero
        cut += int(np.count_nonzero((whole < low - 0.51) | (whole > high + 0.51)))
    return cut / max(1, array.size)


def described(model: ModelProto) -> dict[str, Any]:
    """What each tensor got, for quantization.json."""
    tensors: dict[str, Any] = {}
    for one in quantized_tensors(model):
        said: dict[str, Any] = {
            "dtype": one.dtype.lower(),
            "scale": _short(float(one.scales.max())),
            "zero_point": int(one.zeros.flat[0]),
        }
        if one.scales.size > 1:
            said |= {"scales": int(one.scales.size), "least_scale": _short(float(one.scales.min()))}
            said |= {"axis": one.axis}
        name = one.name if one.stored is None else one.stored.removesuffix("_quantized")
        if name in tensors and tensors[name] != said:
            said = {**tensors[name], "converted_to": said["dtype"]}
        tensors[name] = said
    return tensors


def _short(number: float) -> float:
    return float(f"{number:.6g}")


def nodes_by_width(model: ModelProto) -> dict[str, list[str]]:
    """ "8", "16" or "float" → the nodes that compute so, by their outputs and inputs."""
    makers = made_by(model.graph)
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    quantizers = {node.input[0]: node for node in model.graph.node if node.op_type == QUANTIZE}
    found: dict[str, list[str]] = {}
    for node in model.graph.node:
        if node.op_type in QUANTIZERS:
            continue
        around = [quantizers[name] for name in node.output if name in quantizers]
        around += [
            makers[name]
            for name in node.input
            if name in makers
            and makers[name].op_type == DEQUANTIZE
            and makers[name].input[0] not in stored
        ]
        width = str(max((_bits(one, stored) for one in around), default=0) or "float")
        found.setdefault(width, []).append(node.name)
    return {width: found[width] for width in sorted(found)}


def _bits(node: NodeProto, stored: Mapping[str, TensorProto]) -> int:
    zero = stored.get(node.input[2]) if len(node.input) > 2 else None
    return BITS.get(TensorProto.DataType.Name(zero.data_type), 8) if zero is not None else 8


def operators_by_width(model: ModelProto) -> dict[str, dict[str, int]]:
    kinds = {node.name: node.op_type for node in model.graph.node}
    return {
        width: dict(sorted(Counter(kinds[name] for name in names).items()))
        for width, names in nodes_by_width(model).items()
    }
