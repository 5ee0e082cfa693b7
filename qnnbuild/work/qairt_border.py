"""Inputs and outputs as the SDK's converter made them, out of its _net.json. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INPUT, OUTPUT = 0, 1

DTYPES = {
    0x0008: "int8",
    0x0016: "int16",
    0x0032: "int32",
    0x0064: "int64",
    0x0108: "uint8",
    0x0116: "uint16",
    0x0132: "uint32",
    0x0164: "uint64",
    0x0216: "float16",
    0x0232: "float32",
    0x0308: "int8",
    0x0316: "int16",
    0x0332: "int32",
    0x0408: "uint8",
    0x0416: "uint16",
    0x0432: "uint32",
    0x0508: "bool",
}
"""Qnn_DataType_t; fixed-point numbers by what they are stored as."""


def border(net: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """inputs and outputs: name, dtype, shape, and what there is of scale, offset and order.

    `order` has for each dimension which one of the ONNX file it is.
    """
    tensors = net.get("graph", {}).get("tensors", {})
    return {
        way: [_told(name, one) for name, one in tensors.items() if one.get("type") == kind]
        for way, kind in (("inputs", INPUT), ("outputs", OUTPUT))
    }


def _told(name: str, tensor: Mapping[str, Any]) -> dict[str, Any]:
    code = tensor.get("data_type")
    dims = list(tensor.get("dims") or tensor.get("current_dims") or ())
    told: dict[str, Any] = {
        "name": name,
        "dtype": DTYPES.get(code, f"{code:#06x}") if isinstance(code, int) else "unknown",
        "shape": dims,
    }
    encoding = tensor.get("quant_params", {})
    scale = encoding.get("scale_offset") if encoding.get("definition") == 1 else None
    if isinstance(scale, Mapping) and "scale" in scale:
        told |= {"scale": scale["scale"], "offset": scale.get("offset")}
    order = tensor.get("permute_order_to_src")
    if isinstance(order, list) and sorted(order) == list(range(len(dims))):
        told["order"] = [order.index(axis) for axis in range(len(dims))]
    return told
