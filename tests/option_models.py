"""Models on which single options of the compiler show."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.models import _model, tiny_qdq


def with_lstm() -> onnx.ModelProto:
    """x: float32 [6, 1, 8] → LSTM with 16 units → y."""
    random = np.random.default_rng(7)
    shapes = {"w": (1, 64, 8), "r": (1, 64, 16), "b": (1, 128)}
    stored = {name: random.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], name="lstm", hidden_size=16)
    return _model([node], {"x": [6, 1, 8]}, {"y": [6, 1, 1, 16]}, stored)


def that_spills() -> onnx.ModelProto:
    """x: float32 [1, 3, 128, 128] → three convolutions whose sum keeps all of them alive."""
    random = np.random.default_rng(8)
    stored: dict[str, Any] = {}
    nodes, given = [], "x"
    for number, channels in enumerate((3, 32, 32)):
        weights = 0.05 * random.standard_normal((32, channels, 3, 3))
        stored[f"w{number}"] = weights.astype(np.float32)
        names = [given, f"w{number}"]
        given = f"c{number}"
        nodes.append(helper.make_node("Conv", names, [given], name=given, pads=[1, 1, 1, 1]))
    nodes.append(helper.make_node("Sum", ["c0", "c1", "c2"], ["y"], name="sum"))
    return _model(nodes, {"x": [1, 3, 128, 128]}, {"y": [1, 32, 128, 128]}, stored)


def with_scatter_max() -> onnx.ModelProto:
    """x: float32 [1, 3, 8, 8] → Conv, ScatterElements(max), which the host's table lacks."""
    random = np.random.default_rng(1)
    stored = {
        "w": random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "i": np.zeros((1, 2, 8, 8), np.int32),
        "u": random.standard_normal((1, 2, 8, 8)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node(
            "ScatterElements", ["c", "i", "u"], ["y"], name="scatter", axis=1, reduction="max"
        ),
    ]
    model = _model(nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 8, 8, 8]}, stored)
    model.opset_import[0].version = 18
    return model


def with_float_borders() -> onnx.ModelProto:
    """The quantized convolution of `tiny_qdq`, quantized from and to float32 at its borders."""
    model = tiny_qdq()
    graph = model.graph
    shapes = [1, 3, 16, 16], [1, 8, 16, 16]
    for border, shape in zip((graph.input[0], graph.output[0]), shapes, strict=True):
        value = helper.make_tensor_value_info(border.name, TensorProto.FLOAT, shape)
        border.CopyFrom(value)
    graph.node[0].input[0] = "xq"
    graph.node[-1].output[0] = "yq"
    first = helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["xq"], name="in")
    last = helper.make_node("DequantizeLinear", ["yq", "y_scale", "y_zero"], ["y"], name="out")
    nodes = [first, *graph.node, last]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def with_float_blocks() -> onnx.ModelProto:
    """A MatMul between 16-bit activations, its weight of 4 bits with a float scale a block."""
    random = np.random.default_rng(5)
    stored = {
        "s": random.uniform(0.001, 0.02, (4, 32)).astype(np.float32),
        "xs": np.float32(1e-4),
        "ys": np.float32(1e-3),
        "middle": np.uint16(32768),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "middle"], ["xq"], name="x_quantize"),
        helper.make_node("DequantizeLinear", ["xq", "xs", "middle"], ["xd"], name="x_dequantize"),
        helper.make_node(
            "DequantizeLinear", ["q", "s", "z"], ["w"], name="blocks", axis=0, block_size=16
        ),
        helper.make_node("MatMul", ["xd", "w"], ["m"], name="dense"),
        helper.make_node("QuantizeLinear", ["m", "ys", "middle"], ["yq"], name="y_quantize"),
        helper.make_node("DequantizeLinear", ["yq", "ys", "middle"], ["y"], name="y_dequantize"),
    ]
    model = _model(nodes, {"x": [1, 64]}, {"y": [1, 32]}, stored)
    whole = random.integers(-8, 8, 64 * 32).tolist()
    int4 = TensorProto.INT4
    model.graph.initializer.append(helper.make_tensor("q", int4, (64, 32), whole))
    model.graph.initializer.append(helper.make_tensor("z", int4, (4, 32), [0] * 128))
    model.opset_import[0].version, model.ir_version = 21, 10
    return model
