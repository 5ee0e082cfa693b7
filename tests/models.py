"""Small ONNX models for tests, made here so that each test says what it needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def scale_model(scale: float = 2.0, size: int = 4) -> onnx.ModelProto:
    """x: float32 [1, size] → y = x * weights."""
    weights = numpy_helper.from_array(np.full((1, size), scale, np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "weights"], ["y"], name="mul")],
        "scale",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, size])],
        [weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def scale_bytes(scale: float = 2.0, size: int = 4) -> bytes:
    return bytes(scale_model(scale, size).SerializeToString(deterministic=True))


def write_with_side_file(folder: Path, name: str = "m.onnx", side: str = "m.data") -> bytes:
    """The model in two files; gives the ONNX file's bytes."""
    (folder / side).parent.mkdir(parents=True, exist_ok=True)
    path = folder / name
    onnx.save_model(
        scale_model(size=64),
        str(path),
        save_as_external_data=True,
        location=side,
        size_threshold=0,
    )
    return path.read_bytes()
