"""ONNX models from their text, for tests."""

from __future__ import annotations

import onnx
from onnx import ModelProto, numpy_helper, parser

from qnnbuild.work.names import name_nodes


def model(text: str, opset: int = 17, **weights: object) -> ModelProto:
    """`text` in the form of onnx itself: g (float[4] x) => (float[4] y) { y = Relu (x) }."""
    made = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    for name, value in weights.items():
        made.graph.initializer.append(numpy_helper.from_array(value, name))  # type: ignore[arg-type]
    return made


def text(made: ModelProto) -> list[str]:
    """Each node as "out = Op(in, …)", in order."""
    return [
        f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})"
        for node in made.graph.node
    ]


def inferred(made: ModelProto) -> ModelProto:
    """With node names and shapes, as prepare has them when it begins to rewrite."""
    name_nodes(made)
    return onnx.shape_inference.infer_shapes(made)
