"""One float type for another through a whole graph: cast: {float64: float32}."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper

from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import elem_type_of, graphs, nodes, tensors

FLOATS = ("float64", "float32", "float16", "bfloat16")
"""What cast: takes, on both sides; whole numbers are shapes and indices too, and stay."""

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "stash_type")
"""Attributes that hold an element type."""


def check_cast(cast: Mapping[str, str]) -> None:
    for old, new in cast.items():
        for name in (old, new):
            if name not in FLOATS:
                raise WorkError(
                    f"cast: cannot change '{old}' to '{new}'",
                    place="cast",
                    facts=[("it takes", ", ".join(FLOATS))],
                    hint="for whole numbers at the borders write inputs: {x: {dtype: int32}}",
                    exit_code=2,
                )


def cast_graph(model: ModelProto, cast: Mapping[str, str]) -> int:
    """Replace each `old` type by `new`: weights, borders, attributes. Returns how many."""
    check_cast(cast)
    types = {_elem(old): _elem(new) for old, new in cast.items()}
    changed = 0
    for tensor in tensors(model):
        if tensor.data_type in types:
            _cast_tensor(tensor, types[tensor.data_type])
            changed += 1
    for type_ in _types(model):
        if type_.tensor_type.elem_type in types:
            type_.tensor_type.elem_type = types[type_.tensor_type.elem_type]
            changed += 1
    for node in nodes(model):
        changed += _cast_attributes(node, types)
    return changed


def _elem(name: str) -> int:
    elem_type = elem_type_of(name)
    assert elem_type is not None
    return elem_type


def _types(model: ModelProto) -> Iterator[TypeProto]:
    for graph in graphs(model):
        for values in (graph.input, graph.output, graph.value_info):
            for value in values:
                if value.type.HasField("tensor_type"):
                    yield value.type


def _cast_tensor(tensor: TensorProto, to: int) -> None:
    kinds: dict[int, Any] = {
        TensorProto.DOUBLE: np.float64,
        TensorProto.FLOAT: np.float32,
        TensorProto.FLOAT16: np.float16,
        TensorProto.BFLOAT16: ml_dtypes.bfloat16,
    }
    with np.errstate(over="ignore"):  # what becomes infinite is found by the check of ranges
        array = numpy_helper.to_array(tensor).astype(kinds[to])
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _cast_attributes(node: NodeProto, types: Mapping[int, int]) -> int:
    changed = 0
    for attribute in node.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i in types:
            attribute.i = types[attribute.i]
            changed += 1
    return changed
