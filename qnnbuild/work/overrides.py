"""What the user says of single tensors, checked and in the runtime's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ModelProto
from onnxruntime.quantization import QuantType

from qnnbuild.errors import did_you_mean
from qnnbuild.work.run import WorkError
from qnnbuild.work.widths import Overrides

TYPES = {str(kind).removeprefix("Q").lower(): kind for kind in QuantType}
"""uint8, int16, …: numpy's names; the runtime's own (QUInt8) are taken as well."""

KEYS = ("quant_type", "axis", "scale", "zero_point", "symmetric", "reduce_range", "rmin", "rmax")

_NUMPY = {
    QuantType.QInt8: "int8", QuantType.QUInt8: "uint8", QuantType.QInt16: "int16",
    QuantType.QUInt16: "uint16", QuantType.QInt4: "int8", QuantType.QUInt4: "uint8",
}  # fmt: skip

LIMITS = {
    QuantType.QInt8: (-128, 127), QuantType.QUInt8: (0, 255), QuantType.QInt16: (-32768, 32767),
    QuantType.QUInt16: (0, 65535), QuantType.QInt4: (-8, 7), QuantType.QUInt4: (0, 15),
}  # fmt: skip


def bits_of(kind: QuantType) -> int:
    return {"4": 4, "8": 8, "6": 16}[str(kind)[-1]]


def fixed(kind: QuantType, scale: float, zero_point: int) -> dict[str, Any]:
    """A scale and zero point that no calibration changes."""
    return {
        "quant_type": kind,
        "scale": np.array(scale, np.float32),
        "zero_point": np.array(zero_point, _NUMPY[kind]),
    }


def users_overrides(
    model: ModelProto,
    said: Mapping[str, Mapping[str, Any]],
    floats: set[str],
    *,
    activations: QuantType,
    weights: QuantType,
) -> Overrides:
    """The recipe's overrides; every mistake is told with the tensor's name."""
    stored = {tensor.name for tensor in model.graph.initializer}
    found: Overrides = {}
    for name, wanted in said.items():
        if name not in stored and name not in floats:
            raise _wrong(
                f"no float tensor is named '{name}'", did_you_mean(name, sorted(floats | stored))
            )
        found[name] = [
            _one(name, wanted, name in stored, weights if name in stored else activations)
        ]
    return found


def _one(
    name: str, wanted: Mapping[str, Any], is_stored: bool, default: QuantType
) -> dict[str, Any]:
    _check_keys(name, wanted, is_stored)
    made = dict(wanted)
    kind = _kind(name, made.get("quant_type"), default)
    if "quant_type" in made or "scale" in made:
        made["quant_type"] = kind
    if "scale" in made:
        low, high = LIMITS[kind]
        scale, zero = float(made["scale"]), int(made["zero_point"])
        if not (np.isfinite(scale) and scale > 0):
            raise _wrong(f"'{name}': the scale must be greater than 0, not {scale:g}", None)
        if not low <= zero <= high:
            raise _wrong(f"'{name}': the zero point {zero} is not in {low} to {high}", None)
        made |= fixed(kind, scale, zero)
    for limit in ("rmin", "rmax"):
        if limit in made:
            made[limit] = np.array(made[limit], np.float32)
    if "rmin" in made and not made["rmin"] < made["rmax"]:
        raise _wrong(f"'{name}': rmin must be less than rmax", None)
    return made


def _check_keys(name: str, wanted: Mapping[str, Any], is_stored: bool) -> None:
    for key in wanted:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS, ", ".join(KEYS))
            raise _wrong(f"'{name}': '{key}' is no override", hint)
    for one, other in (("scale", "zero_point"), ("rmin", "rmax")):
        if (one in wanted) != (other in wanted):
            raise _wrong(f"'{name}': {one} and {other} come together", None)
    both = sorted({"symmetric", "reduce_range", "rmin", "rmax"} & set(wanted))
    if "scale" in wanted and both:
        raise _wrong(f"'{name}': {both[0]} says nothing beside scale and zero_point", None)
    if not is_stored and {"axis", "reduce_range"} & set(wanted):
        raise _wrong(f"'{name}' is no weight: axis and reduce_range are for weights", None)


def _kind(name: str, said: object, default: QuantType) -> QuantType:
    if said is None:
        return default
    word = str(said).lower()
    kind = TYPES.get(word) or TYPES.get(word.removeprefix("q"))
    if kind is None or kind not in LIMITS:
        known = [word for word, one in TYPES.items() if one in LIMITS]
        raise _wrong(f"'{name}': '{said}' is no type to quantize to", ", ".join(sorted(known)))
    return kind


def _wrong(message: str, hint: str | None) -> WorkError:
    return WorkError(f"overrides: {message}", place="precision", hint=hint, exit_code=2)


def merged(first: Overrides, second: Overrides) -> Overrides:
    """Both; where both say something of one tensor, the second's words count."""
    made = {name: [dict(part) for part in parts] for name, parts in first.items()}
    for name, parts in second.items():
        if name in made and len(parts) == 1 and len(made[name]) == 1:
            made[name][0] |= parts[0]
        else:
            made[name] = [dict(part) for part in parts]
    return made
