"""Scales and offsets from samples and from encodings; a quantisation without noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.standin.tools import input_list
from tests.standin.tools.log import RefusedError
from tests.standin.tools.meta import FLOAT16, FLOAT32, Meta
from tests.standin.tools.onnx_graph import run

FIXED = {8: 0x0408, 16: 0x0416}


def calibrate(meta: Meta, model: bytes, samples: Sequence[input_list.Sample], bits: int) -> None:
    """Every float input and output of the graph gets the range that the samples show."""
    ranges: dict[str, tuple[float, float]] = {}

    def see(name: str, value: Any) -> None:
        low, high = ranges.get(name, (0.0, 0.0))
        ranges[name] = (min(low, float(np.min(value))), max(high, float(np.max(value))))

    for sample in samples:
        feeds = {}
        for tensor in meta["inputs"]:
            value = sample[tensor["name"]][0]
            see(tensor["name"], value)
            feeds[tensor["source"]] = input_list.to_source(value, tensor)
        if meta["own_operators"]:  # only the operator package could run them
            for tensor in meta["outputs"]:
                see(tensor["name"], np.array([-1.0, 1.0]))
            continue
        made = run(model, feeds)
        for tensor in meta["outputs"]:
            see(tensor["name"], made[tensor["source"]])
    for tensor in [*meta["inputs"], *meta["outputs"]]:
        if tensor["dtype"] in (FLOAT32, FLOAT16) and "scale" not in tensor:
            low, high = ranges[tensor["name"]]
            _encode(tensor, low, high, bits)
    meta["quantized"] = True


def override(meta: Meta, path: Path) -> None:
    """Encodings of the file for tensors of the graph; names that it does not have are ignored."""
    for name, bits, entry in encodings(path):
        for tensor in [*meta["inputs"], *meta["outputs"]]:
            if tensor["source"] != name or bits not in FIXED:
                continue
            if "scale" in entry:
                scale, offset = _first(entry["scale"]), _first(entry.get("offset", 0))
                tensor.update(scale=float(scale), offset=int(offset), bits=bits)
                tensor.update(dtype=FIXED[bits], overridden=True)
            else:
                _encode(tensor, float(entry["min"]), float(entry["max"]), bits)
                tensor["overridden"] = True


def encodings(path: Path) -> list[tuple[str, int, dict[str, Any]]]:
    """(tensor, bits, entry) of the activations of both forms of the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise RefusedError(f"Cannot read quantization overrides {path}: {problem}") from problem
    found = []
    activations = data.get("activation_encodings", {})
    if isinstance(activations, list):  # 1.0.0
        found = [(entry["name"], int(entry["bw"]), entry) for entry in activations]
    else:
        for name, entries in activations.items():
            if not isinstance(entries, list):
                raise RefusedError(f"Encodings of {name} in {path} must be a list")
            found.append((name, int(entries[0]["bitwidth"]), entries[0]))
    return [entry for entry in found if entry[2].get("dtype", "int").lower() == "int"]


def through(value: Any, tensor: Meta) -> Any:
    """What is left of a float after the tensor's fixed-point type; others pass."""
    if "scale" not in tensor:
        return value
    return dequantized(quantized(value, tensor), tensor)


def quantized(value: Any, tensor: Meta) -> Any:
    most = 2 ** tensor["bits"] - 1
    steps = np.rint(np.asarray(value, np.float64) / tensor["scale"]) - tensor["offset"]
    return np.clip(steps, 0, most).astype("uint8" if tensor["bits"] == 8 else "uint16")


def dequantized(value: Any, tensor: Meta) -> Any:
    steps = value.astype(np.float64) + tensor["offset"]
    return (steps * tensor["scale"]).astype(np.float32)


def _encode(tensor: Meta, low: float, high: float, bits: int) -> None:
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (2**bits - 1) or 1.0
    tensor.update(scale=scale, offset=round(low / scale), bits=bits, dtype=FIXED[bits])


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value
