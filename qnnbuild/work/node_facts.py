"""What is known of a graph's tensors without running it: types, shapes, constants, neighbours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from qnnbuild.work.walk import STANDARD, dtype_name, made_by, shape_of

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
SMALL = 4096
"""So many elements are looked at; patterns ask for single numbers and lists of axes."""

FORMS = {
    "float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64", "bool": "bool",
}  # fmt: skip
BYTE = ("uint8", "int8", "uint4", "int4")
WORD = ("uint16", "int16")


class NodeFacts:
    """Of a model with inferred shapes; only its outermost graph is looked at."""

    def __init__(self, model: ModelProto) -> None:
        graph = model.graph
        self.opset = next((o.version for o in model.opset_import if o.domain in STANDARD), 0)
        self.nodes = list(graph.node)
        self.makers: Mapping[str, NodeProto] = made_by(graph)
        self.inputs = {value.name for value in graph.input}
        self.outputs = {value.name for value in graph.output}
        self.readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in dict.fromkeys(node.input):
                self.readers.setdefault(name, []).append(node)
        self._stored: dict[str, TensorProto] = {one.name: one for one in graph.initializer}
        self._constants = {
            node.output[0]: node for node in graph.node if node.op_type == "Constant"
        }
        values = [*graph.input, *graph.value_info, *graph.output]
        self._types = {v.name: v.type.tensor_type.elem_type for v in values}
        self._shapes = {v.name: shape_of(v) for v in values}

    def at_border(self, node: NodeProto) -> bool:
        """It reads an input of the graph or makes an output."""
        return bool(self.inputs & set(node.input) or self.outputs & set(node.output))

    def has(self, kinds: Collection[str]) -> bool:
        """Any node of one of these operators."""
        return any(node.op_type in kinds for node in self.nodes)

    def is_constant(self, name: str) -> bool:
        """Stored, or dequantized from what is."""
        maker = self.makers.get(name)
        if maker is not None and maker.op_type == DEQUANTIZE:
            name = maker.input[0]
        return name in self._stored or name in self._constants

    def constant(self, name: str) -> np.ndarray[Any, np.dtype[Any]] | None:
        """Its elements; None for what is none, is large, or lies in a side file."""
        tensor = self._tensor(name)
        if tensor is None or tensor.external_data or np.prod(tensor.dims) > SMALL:
            return None
        return numpy_helper.to_array(tensor)

    def _tensor(self, name: str) -> TensorProto | None:
        if name in self._stored:
            return self._stored[name]
        node = self._constants.get(name)
        if node is None or node.attribute[0].name != "value":
            return None
        made: TensorProto = node.attribute[0].t
        return made

    def dtype(self, name: str) -> str:
        tensor = self._tensor(name)
        return dtype_name(tensor.data_type if tensor is not None else self._types.get(name, 0))

    def shape(self, name: str) -> tuple[int, ...] | None:
        """None unless all sizes are known."""
        tensor = self._tensor(name)
        if tensor is not None:
            return tuple(tensor.dims)
        shape = self._shapes.get(name)
        if shape is None:
            return None
        sizes = tuple(size for size in shape if isinstance(size, int))
        return sizes if len(sizes) == len(shape) else None

    def form(self, node: NodeProto, data: int) -> str:
        """f32, f16, i32, i64, bool; a8 or a16 between quantizers; "" for all else."""
        name = node.input[data] if data < len(node.input) else ""
        maker = self.makers.get(name)
        if maker is not None and maker.op_type == DEQUANTIZE and self._ends_quantized(node):
            kind = self.dtype(maker.input[0])
            if kind == "unknown" and len(maker.input) > 2:
                kind = self.dtype(maker.input[2])
            return "a8" if kind in BYTE else "a16" if kind in WORD else ""
        return FORMS.get(self.dtype(name), "")

    def _ends_quantized(self, node: NodeProto) -> bool:
        """All that reads its float results quantizes them: then it is one unit with them."""
        for name in filter(None, node.output):
            floats = self.dtype(name) in ("float32", "float16", "unknown")
            if floats and any(r.op_type != QUANTIZE for r in self.readers.get(name, ())):
                return False
            if floats and name in self.outputs:
                return False
        return True

    def only_reader(self, node: NodeProto) -> NodeProto | None:
        """The one node that reads its one result, which is no output of the graph."""
        name = node.output[0]
        readers = self.readers.get(name, [])
        return readers[0] if len(readers) == 1 and name not in self.outputs else None

    def next_layer(self, node: NodeProto) -> NodeProto | None:
        """Its only reader, or the one behind the two quantizers that stand between."""
        reader = self.only_reader(node)
        if reader is None or reader.op_type != QUANTIZE or node.op_type == DEQUANTIZE:
            return reader
        behind = self.only_reader(reader)
        if behind is None or behind.op_type != DEQUANTIZE:
            return reader
        return self.only_reader(behind)


def attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    for one in node.attribute:
        if one.name == name:
            value = helper.get_attribute_value(one)
            return value.decode() if isinstance(value, bytes) else value
    return default
