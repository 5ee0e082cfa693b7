"""How much a graph multiplies and adds, node by node, from its shapes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from onnx import GraphProto, ModelProto, NodeProto, helper

from qnnbuild.work.walk import inner_graphs, shape_of

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

KEEPS_SHAPE = ("QuantizeLinear", "DequantizeLinear", "Cast", "Identity", "Relu", "Clip")
"""Quantizers stand between a weight and what multiplies by it; no shape is noted there."""

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def multiply_adds(model: ModelProto) -> dict[str, int]:
    """Node → its multiply-adds in one run, for nodes that have any; of a loop, one round.

    Additions, activations and moves of data count nothing: beside the products they are few.
    """
    found: dict[str, int] = {}
    _count(model.graph, {}, found)
    return found


def share_of(counts: Mapping[str, int], names: Sequence[str]) -> float:
    """The part of all multiply-adds that the nodes `names` have, 0 to 1."""
    total = sum(counts.values())
    return sum(counts.get(name, 0) for name in set(names)) / total if total else 0.0


def _count(graph: GraphProto, outside: Shapes, found: dict[str, int]) -> None:
    shapes = dict(outside)
    for value in [*graph.input, *graph.value_info, *graph.output]:
        shape = shape_of(value)
        if shape is not None and all(isinstance(size, int) for size in shape):
            shapes[value.name] = tuple(int(size) for size in shape)
    shapes.update((tensor.name, tuple(tensor.dims)) for tensor in graph.initializer)
    for node in graph.node:
        _note_shape(node, shapes)
        count = _of_node(node, shapes)
        if count:
            found[node.name] = found.get(node.name, 0) + count
        for inner in inner_graphs(node):
            _count(inner, shapes, found)


def _note_shape(node: NodeProto, shapes: dict[str, Shape]) -> None:
    if node.op_type == "Constant":
        value = next((a.t for a in node.attribute if a.name == "value"), None)
        if value is not None:
            shapes.setdefault(node.output[0], tuple(value.dims))
    elif node.op_type in KEEPS_SHAPE and node.input[0] in shapes:
        shapes.setdefault(node.output[0], shapes[node.input[0]])


def _of_node(node: NodeProto, shapes: Shapes) -> int:
    """0 as well where a shape is not known."""
    counter = COUNTERS.get(node.op_type)
    if counter is None:
        return 0
    try:
        return counter(node, shapes)
    except (KeyError, IndexError):
        return 0


def _conv(node: NodeProto, shapes: Shapes, weights: int = 1) -> int:
    return math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[weights]][1:])


def _quantized_conv(node: NodeProto, shapes: Shapes) -> int:
    return _conv(node, shapes, weights=3)


def _conv_transpose(node: NodeProto, shapes: Shapes) -> int:
    return math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])


def _gemm(node: NodeProto, shapes: Shapes) -> int:
    turned = next((a.i for a in node.attribute if a.name == "transA"), 0)
    return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if turned else 1]


def _matmul(node: NodeProto, shapes: Shapes) -> int:
    left = shapes[node.input[0]]
    turned = next((a.i for a in node.attribute if a.name == "transA"), 0)
    return math.prod(shapes[node.output[0]]) * left[-2 if turned else -1]


def _recurrent(node: NodeProto, shapes: Shapes) -> int:
    """Input [time, batch, features] (layout 1: batch first, the same product); W and R at 1, 2."""
    first, second, features = shapes[node.input[0]]
    directions, _, hidden = shapes[node.input[2]]
    steps = first * second * directions
    return steps * GATES[node.op_type] * hidden * (features + hidden)


def _einsum(node: NodeProto, shapes: Shapes) -> int:
    """The product of all sizes that its letters name; what … stands for is in the output."""
    equation = next(helper.get_attribute_value(a) for a in node.attribute if a.name == "equation")
    terms = equation.decode().replace(" ", "").partition("->")[0].split(",")
    if len(terms) < 2:
        return 0
    sizes: dict[str, int] = {}
    wide: Shape = ()
    for term, name in zip(terms, node.input, strict=True):
        shape = shapes[name]
        before, dots, after = term.partition("...")
        end = len(shape) - len(after)
        letters = [*zip(before, shape, strict=False), *zip(after, shape[end:], strict=True)]
        sizes.update((letter, max(size, sizes.get(letter, 1))) for letter, size in letters)
        if dots and end - len(before) > len(wide):
            wide = shape[len(before) : end]
    return math.prod(sizes.values()) * math.prod(wide)


COUNTERS: Mapping[str, Callable[[NodeProto, Shapes], int]] = {
    "Conv": _conv,
    "FusedConv": _conv,
    "ConvInteger": _conv,
    "DeformConv": _conv,
    "QLinearConv": _quantized_conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "FusedMatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    **dict.fromkeys(GATES, _recurrent),
    "Einsum": _einsum,
}
