"""AIMET's encodings, forms 0.6.1 and 1.0.0: scales and zero points that the user brings.

There a value is (q + offset) * scale with q from 0 to 2^bits - 1, so offsets are 0 or negative: an
unsigned zero point is -offset, a signed one -offset - 2^(bits - 1). A symmetric encoding has the
signed zero point 0, be its offset -128 or, with one step less, -127.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto
from onnxruntime.quantization import QuantType

from qnnbuild.errors import did_you_mean
from qnnbuild.work.calibration import Range
from qnnbuild.work.overrides import LIMITS, fixed
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import made_by
from qnnbuild.work.widths import Overrides, readers_of

FORMS = ("0.6.1", "1.0.0")
SIGNED = {4: QuantType.QInt4, 8: QuantType.QInt8, 16: QuantType.QInt16}
UNSIGNED = {4: QuantType.QUInt4, 8: QuantType.QUInt8, 16: QuantType.QUInt16}
MOST_TOLD = 5
MOST_BITS = 32


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """One tensor's, the same for both forms of file."""

    name: str
    bits: int
    is_float: bool
    is_symmetric: bool
    scales: tuple[float, ...] = ()
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the file says of this model."""

    overrides: Overrides = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)  # of activations
    floats: frozenset[str] = frozenset()  # activations that stay float
    unknown: tuple[str, ...] = ()  # names that the model does not have
    missing: tuple[str, ...] = ()  # float tensors of the model that the file leaves to calibration


def read_encodings(folder: Path) -> tuple[list[Encoding], list[Encoding]]:
    """Those of activations and those of parameters, from the one file in `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    try:
        whole = json.loads(files[0].read_text(encoding="utf-8"))
        form = str(whole["version"])
        halves = [whole[f"{half}_encodings"] for half in ("activation", "param")]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise _wrong("the file has no version and no encodings", "AIMET writes it") from None
    if form not in FORMS:
        raise _wrong(f"its form is {form}", f"known: {', '.join(FORMS)}")
    reader = _old if form == "0.6.1" else _new
    try:
        activations, parameters = (list(reader(half)) for half in halves)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _wrong(f"an encoding is not whole: {error!r}", f"its form is {form}") from None
    for one in [*activations, *parameters]:
        _check(one)
    return activations, parameters


def _old(half: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Encoding]:
    for name, channels in half.items():
        first = channels[0]
        is_float = str(first.get("dtype", "int")).lower() == "float"
        yield Encoding(
            name=name,
            bits=int(first["bitwidth"]),
            is_float=is_float,
            is_symmetric=str(first.get("is_symmetric", "False")).lower() == "true",
            scales=() if is_float else tuple(_scale(one) for one in channels),
            offsets=() if is_float else tuple(round(one["offset"]) for one in channels),
        )


def _scale(channel: Mapping[str, Any]) -> float:
    """Older files leave the scale to be calculated from the range."""
    if "scale" in channel:
        return float(channel["scale"])
    steps = 2 ** min(int(channel["bitwidth"]), MOST_BITS) - 1  # else a number of any length
    return float((channel["max"] - channel["min"]) / steps)


def _new(half: Sequence[Mapping[str, Any]]) -> Iterator[Encoding]:
    for one in half:
        name, kind = str(one["name"]), str(one.get("enc_type", "PER_TENSOR")).upper()
        if kind in ("PER_BLOCK", "LPBQ", "VECTOR"):
            raise _wrong(
                f"'{name}' is encoded in blocks ({kind})",
                "bring the ONNX file with its blocks in the QDQ form: they are kept as they are",
            )
        is_float = str(one.get("dtype", "INT")).upper() != "INT"
        yield Encoding(
            name=name,
            bits=int(one["bw"]),
            is_float=is_float,
            is_symmetric=bool(one.get("is_sym", False)),
            scales=() if is_float else tuple(float(scale) for scale in one["scale"]),
            offsets=() if is_float else tuple(round(offset) for offset in one["offset"]),
        )


def _check(one: Encoding) -> None:
    if one.is_float:
        return
    if one.bits not in (4, 8, 16, MOST_BITS):
        raise _wrong(f"'{one.name}' has {one.bits} bits", "4, 8 and 16, and 32 for a bias")
    if not one.scales or len(one.scales) != len(one.offsets):
        raise _wrong(f"'{one.name}' has not one offset for each scale", None)
    if not all(np.isfinite(scale) and scale > 0 for scale in one.scales):
        raise _wrong(f"a scale of '{one.name}' is not greater than 0", None)
    if not all(-(2**one.bits) < offset <= 0 for offset in one.offsets):
        raise _wrong(
            f"the offset {one.offsets[0]} of '{one.name}' is not from -{2**one.bits - 1} to 0",
            "AIMET's offsets are the zero points' opposites",
        )


def given(
    run: Run, model: ModelProto, halves: tuple[list[Encoding], list[Encoding]], floats: set[str]
) -> Given:
    """Match the file with the model by names; tell what does not match."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    activations, parameters = halves
    overrides: Overrides = {}
    widths: dict[str, int] = {}
    stay: set[str] = set()
    unknown = [one.name for one in activations if one.name not in floats and one.name not in stored]
    unknown += [one.name for one in parameters if one.name not in stored]
    for one in activations:
        if one.name in stored:
            overrides |= _parameter(one, model) if not one.is_float else {}
        elif one.name in floats and one.is_float:
            stay.add(one.name)
        elif one.name in floats:
            overrides[one.name] = [_activation(one)]
            widths[one.name] = one.bits
    for one in parameters:
        # a bias gets the scale of its node's input times its weight's: nothing else is correct
        if one.name in stored and not one.is_float and one.bits != 32:
            overrides |= _parameter(one, model)
    missing = sorted(floats - set(overrides) - stay)
    found = Given(
        overrides=overrides, widths=widths, floats=frozenset(stay), unknown=tuple(unknown),
        missing=tuple(missing),
    )  # fmt: skip
    _tell(run, found, floats | set(stored))
    return found


def _activation(one: Encoding) -> dict[str, Any]:
    if len(one.scales) > 1:
        raise _wrong(f"'{one.name}' has {len(one.scales)} scales, an activation has one", None)
    if one.bits not in (8, 16):
        raise _wrong(f"'{one.name}' has {one.bits} bits, an activation has 8 or 16", None)
    return fixed(UNSIGNED[one.bits], one.scales[0], -one.offsets[0])


def _parameter(one: Encoding, model: ModelProto) -> Overrides:
    """Per tensor or, with several scales, per channel along the axis that its node has."""
    half = 2 ** (one.bits - 1)
    # symmetric with the offset 0 is AIMET's way of saying: no value is negative
    signed = one.is_symmetric and any(one.offsets)
    kind = (SIGNED if signed else UNSIGNED)[one.bits]
    zeros = [0 if signed else -offset for offset in one.offsets]
    parts = [fixed(kind, scale, zero) for scale, zero in zip(one.scales, zeros, strict=True)]
    if signed and any(abs(offset + half) > 1 for offset in one.offsets):
        raise _wrong(f"'{one.name}' is symmetric, but its offset is {one.offsets[0]}", None)
    if len(parts) > 1:
        axis = _channel_axis(one.name, model)
        size = next(t.dims[axis] for t in model.graph.initializer if t.name == one.name)
        if size != len(parts):
            raise _wrong(f"'{one.name}' has {size} channels and {len(parts)} scales", None)
        for part in parts:
            part["axis"] = axis
    return {one.name: parts}


def _channel_axis(name: str, model: ModelProto) -> int:
    """The axis of output channels, by the node that reads the weight."""
    for node in readers_of(model).get(name, []):
        if node.op_type == "ConvTranspose":
            return 1
        if node.op_type == "Gemm" and not _transposed(node):
            return 1
        if node.op_type == "MatMul":
            return len(next(t.dims for t in model.graph.initializer if t.name == name)) - 1
    return 0


def _transposed(gemm: NodeProto) -> bool:
    return any(attribute.name == "transB" and attribute.i for attribute in gemm.attribute)


def _tell(run: Run, found: Given, known: set[str]) -> None:
    if not found.overrides and not found.floats:
        raise _wrong(
            "not one of its names is a tensor of the model",
            did_you_mean(found.unknown[0], sorted(known)) if found.unknown else None,
        )
    if found.unknown:
        first = found.unknown[0]
        near = did_you_mean(first, sorted(known))
        names = ", ".join(f"'{name}'" for name in found.unknown[:MOST_TOLD])
        run.warn(
            f"encodings: {len(found.unknown)} names are no tensors of the prepared model: {names}"
            + (f"; for '{first}', {near}" if near else ""),
            place="precision",
        )
    if found.missing:
        names = ", ".join(f"'{name}'" for name in found.missing[:MOST_TOLD])
        run.warn(
            f"encodings: {len(found.missing)} tensors are not in the file and are calibrated: "
            f"{names}",
            place="precision",
        )


def said_ranges(overrides: Overrides) -> dict[str, Range]:
    """The ranges that the scales of activations leave: all there is without samples."""
    found: dict[str, Range] = {}
    for name, parts in overrides.items():
        first = parts[0]
        if len(parts) == 1 and "axis" not in first:
            low, high = LIMITS[first["quant_type"]]
            scale, zero = float(first["scale"]), int(first["zero_point"])
            least, most = (low - zero) * scale, (high - zero) * scale
            found[name] = Range(low=least, high=most, least=least, most=most)
    return found


def nodes_that_stay_float(model: ModelProto, floats: frozenset[str]) -> set[str]:
    """The nodes that make tensors with a float encoding."""
    makers = made_by(model.graph)
    return {makers[name].name for name in floats if name in makers}


def _wrong(message: str, hint: str | None) -> WorkError:
    return WorkError(f"encodings: {message}", place="precision", hint=hint, exit_code=2)
