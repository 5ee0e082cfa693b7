"""Small ONNX models for tests, made here so that each test says what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def tiny_conv(channels: int = 8) -> onnx.ModelProto:
    """x: float32 [1, 3, 16, 16] → Conv, Relu, Flatten, MatMul → scores: float32 [1, 10]."""
    random = np.random.default_rng(1)
    stored = {
        "w": random.standard_normal((channels, 3, 3, 3)).astype(np.float32),
        "b": random.standard_normal(channels).astype(np.float32),
        "dense": 0.01 * random.standard_normal((channels * 16 * 16, 10)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="flatten"),
        helper.make_node("MatMul", ["f", "dense"], ["scores"], name="dense"),
    ]
    return _model(nodes, {"x": [1, 3, 16, 16]}, {"scores": [1, 10]}, stored)


def two_branch() -> onnx.ModelProto:
    """a, b: float32 [1, 64] → MatMul, Sigmoid and MatMul, Tanh → their sum and product."""
    random = np.random.default_rng(2)
    stored = {
        name: 0.1 * random.standard_normal((64, 64)).astype(np.float32) for name in ("u", "v")
    }
    nodes = [
        helper.make_node("MatMul", ["a", "u"], ["au"], name="left"),
        helper.make_node("Sigmoid", ["au"], ["l"], name="left/sigmoid"),
        helper.make_node("MatMul", ["b", "v"], ["bv"], name="right"),
        helper.make_node("Tanh", ["bv"], ["r"], name="right/tanh"),
        helper.make_node("Add", ["l", "r"], ["sum"], name="add"),
        helper.make_node("Mul", ["l", "r"], ["product"], name="mul"),
    ]
    wide = [1, 64]
    return _model(nodes, {"a": wide, "b": wide}, {"sum": wide, "product": wide}, stored)


def with_erf() -> onnx.ModelProto:
    """x: float32 [1, 64] → MatMul, Erf, MatMul → y: the QNN plugin has no Erf."""
    random = np.random.default_rng(3)
    stored = {"w": 0.1 * random.standard_normal((64, 64)).astype(np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="first"),
        helper.make_node("Erf", ["m"], ["e"], name="gelu/erf"),
        helper.make_node("MatMul", ["e", "w"], ["y"], name="second"),
    ]
    return _model(nodes, {"x": [1, 64]}, {"y": [1, 64]}, stored)


def tiny_qdq() -> onnx.ModelProto:
    """x: uint8 [1, 3, 16, 16] → a quantized Conv and Relu → y: uint8 [1, 8, 16, 16]."""
    random = np.random.default_rng(4)
    stored = {
        "x_scale": np.float32(0.02),
        "x_zero": np.uint8(128),
        "w": random.integers(-127, 127, (8, 3, 3, 3)).astype(np.int8),
        "w_scale": np.float32(0.01),
        "w_zero": np.int8(0),
        "y_scale": np.float32(0.05),
        "y_zero": np.uint8(0),
    }
    nodes = [
        helper.make_node(
            "DequantizeLinear", ["x", "x_scale", "x_zero"], ["xf"], name="x_dequantize"
        ),
        helper.make_node(
            "DequantizeLinear", ["w", "w_scale", "w_zero"], ["wf"], name="w_dequantize"
        ),
        helper.make_node("Conv", ["xf", "wf"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("QuantizeLinear", ["r", "y_scale", "y_zero"], ["y"], name="y_quantize"),
    ]
    uint8 = TensorProto.UINT8
    return _model(nodes, {"x": [1, 3, 16, 16]}, {"y": [1, 8, 16, 16]}, stored, dtype=uint8)


def with_blocks() -> onnx.ModelProto:
    """x: float32 [1, 64] → MatMul with a weight of 4 bits in blocks of 16 → y: float32 [1, 32].

    The blocks' scales are whole numbers themselves, as the plugin wants them: uint8, with zero
    points.
    """
    random = np.random.default_rng(5)
    whole = random.integers(-8, 8, 64 * 32).tolist()
    nodes = [
        helper.make_node(
            "DequantizeLinear", ["bs", "cs", "cz"], ["s"], name="block_scales", axis=1
        ),
        helper.make_node(
            "DequantizeLinear", ["q", "s", "z"], ["w"], name="blocks", axis=0, block_size=16
        ),
        helper.make_node("MatMul", ["x", "w"], ["y"], name="dense"),
    ]
    stored = {
        "bs": random.integers(1, 16, (4, 32)).astype(np.uint8),
        "cs": np.full(32, 0.002, np.float32),
        "cz": np.zeros(32, np.uint8),
    }
    model = _model(nodes, {"x": [1, 64]}, {"y": [1, 32]}, stored)
    int4 = TensorProto.INT4
    model.graph.initializer.append(helper.make_tensor("q", int4, (64, 32), whole))
    model.graph.initializer.append(helper.make_tensor("z", int4, (4, 32), [0] * 128))
    model.opset_import[0].version, model.ir_version = 21, 10
    return model


def _model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, list[int]],
    outputs: dict[str, list[int]],
    stored: Mapping[str, Any],
    dtype: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
