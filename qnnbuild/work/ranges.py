"""Constants that an NPU would not compute with as they are: beyond fp16 or int32, scales of 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto

from qnnbuild.work.model_bytes import elements
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import label, nodes

FP16_MAX = 65504.0

_WEIGHTED = ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "FusedMatMul")
"""Here a weight that is cut gives wrong sums; masks and bounds elsewhere survive as infinite."""

_COUNTING = ("Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "Greater", "LessOrEqual",
             "GreaterOrEqual", "Where", "Max", "Min")  # fmt: skip
"""Here a whole number beyond int32 counts; in Slice and the like it only means the end."""


_MIDDLES: Mapping[int, int] = {
    TensorProto.UINT4: 8,
    TensorProto.UINT8: 1 << 7,
    TensorProto.UINT16: 1 << 15,
}
"""The zero point of an unsigned type whose range is as wide on both sides of 0."""


def check_ranges(
    run: Run, model: ModelProto, source: Path, *, fp16: bool, cpu_helps: bool = False
) -> None:
    """Refuse weights beyond fp16 when that computes, and scales of 0; tell what may be harmless."""
    readers = _readers(model)
    for tensor in model.graph.initializer:
        used = readers.get(tensor.name, [])
        _check_scale(tensor, used, source)
        if not cpu_helps:
            _check_zero_points(tensor, used, source)
        if fp16 and tensor.data_type in (TensorProto.FLOAT, TensorProto.BFLOAT16):
            _check_fp16(run, tensor, used, _peak(tensor, source))
        elif tensor.data_type == TensorProto.INT64:
            _check_int32(run, tensor, used, _peak(tensor, source))


def _readers(model: ModelProto) -> Mapping[str, list[tuple[NodeProto, int]]]:
    readers: dict[str, list[tuple[NodeProto, int]]] = {}
    for node in nodes(model):
        for index, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, index))
    return readers


def _check_scale(tensor: TensorProto, used: list[tuple[NodeProto, int]], source: Path) -> None:
    scaled = [node for node, index in used if node.op_type.endswith("tizeLinear") and index == 1]
    if not scaled:
        return
    scales = elements(tensor, source).astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(scales) & (scales > 0)))
    if bad.size:
        raise WorkError(
            f"the scale '{tensor.name}' is not greater than 0",
            facts=[
                ("used by", label(scaled[0])),
                ("tensor", scaled[0].input[0]),
                *_channel(scales, bad),
                ("value", f"{scales[bad[0]]:g}"),
            ],
            hint="calibrate the model again: an input that is always 0 gives such a scale",
            exit_code=2,
        )


def _check_zero_points(
    tensor: TensorProto, used: list[tuple[NodeProto, int]], source: Path
) -> None:
    """One for each channel must be the middle: the compiler takes no other (error 3110)."""
    quantizers = [n for n, index in used if n.op_type.endswith("tizeLinear") and index == 2]
    by_block = any(a.name == "block_size" and a.i for n in quantizers for a in n.attribute)
    if not quantizers or by_block or math.prod(tensor.dims) < 2:
        return
    zeros = elements(tensor, source).astype(np.int64)
    middle = _MIDDLES.get(tensor.data_type, 0)
    bad = np.flatnonzero(zeros != middle)
    if bad.size:
        raise WorkError(
            f"the zero points '{tensor.name}' are one for each channel and not all {middle}",
            place="precision",
            facts=[
                ("used by", label(quantizers[0])),
                ("tensor", quantizers[0].input[0]),
                *_channel(zeros, bad),
                ("value", f"{zeros[bad[0]]}"),
            ],
            hint="quantize weights symmetrically, or with one scale for the whole tensor",
            exit_code=2,
        )


def _channel(values: np.ndarray[Any, Any], bad: np.ndarray[Any, Any]) -> list[tuple[str, str]]:
    if values.size == 1:
        return []
    return [("channel", f"{bad[0]}, the first of {bad.size} in {values.size}")]


def _check_fp16(
    run: Run, tensor: TensorProto, used: list[tuple[NodeProto, int]], peak: float
) -> None:
    if peak <= FP16_MAX:
        return
    weighted = [node for node, _ in used if node.op_type in _WEIGHTED]
    said = f"the constant '{tensor.name}' holds {peak:g}, beyond the fp16 range of ±{FP16_MAX:g}"
    if not weighted:
        run.warn(f"{said}; fine for a mask, verify tells", place="precision")
        return
    raise WorkError(
        said,
        place="precision",
        facts=[("used by", label(weighted[0]))],
        hint="choose another precision, or scale the weights down and the result up again",
        exit_code=2,
    )


def _check_int32(
    run: Run, tensor: TensorProto, used: list[tuple[NodeProto, int]], peak: float
) -> None:
    counting = [node for node, _ in used if node.op_type in _COUNTING]
    if peak > 2**31 and counting:
        run.warn(
            f"the constant '{tensor.name}' holds {peak:.0f}, beyond int32: "
            f"{label(counting[0])} gets it cut on the NPU"
        )


def _peak(tensor: TensorProto, source: Path) -> float:
    """The greatest finite magnitude; an infinite weight stays infinite in every type."""
    return max(_peaks(elements(tensor, source)), default=0.0)


def _peaks(flat: np.ndarray[Any, np.dtype[Any]]) -> Iterator[float]:
    for start in range(0, flat.size, 1 << 20):
        part = np.abs(flat[start : start + (1 << 20)].astype(np.float64))
        finite = part[np.isfinite(part)]
        if finite.size:
            yield float(finite.max())
