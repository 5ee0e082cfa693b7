"""Walks over ONNX models: graphs within graphs, tensors, names, types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

STANDARD = ("", "ai.onnx")
"""The two spellings of ONNX's own domain."""


def graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The model's graph and all graphs inside its nodes, outermost first."""
    yield from _within(model.graph)


def _within(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from _within(inner)


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    """All nodes, those in inner graphs included."""
    for graph in graphs(model):
        yield from graph.node


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """All stored tensors: initializers and attributes, in inner graphs and functions too."""
    for graph in graphs(model):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield sparse.values
            yield sparse.indices
        for node in graph.node:
            yield from _attribute_tensors(node)
    for function in model.functions:
        for node in function.node:
            yield from _attribute_tensors(node)


def _attribute_tensors(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def texts(model: ModelProto) -> Iterator[str | bytes]:
    """Every name in the model; bytes where it is no UTF-8."""
    yield from (model.producer_name, model.producer_version, model.domain)
    yield from (opset.domain for opset in model.opset_import)
    for entry in model.metadata_props:
        yield from (entry.key, entry.value)
    for graph in graphs(model):
        yield graph.name
        for value in (*graph.input, *graph.output, *graph.value_info):
            yield value.name
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
        yield from _texts_of_nodes(graph.node)
    for function in model.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
        yield from _texts_of_nodes(function.node)
    for tensor in tensors(model):
        yield tensor.name
        for entry in tensor.external_data:
            yield from (entry.key, entry.value)


def _texts_of_nodes(nodes: Iterable[NodeProto]) -> Iterator[str | bytes]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


def domain_of(node: NodeProto) -> str:
    return "ai.onnx" if node.domain in STANDARD else node.domain


def operator_of(node: NodeProto) -> str:
    """ "ai.onnx:Conv"."""
    return f"{domain_of(node)}:{node.op_type}"


def label(node: NodeProto) -> str:
    """How a message calls a node: its name, or the tensor it makes."""
    if node.name:
        return f"node '{node.name}' ({node.op_type})"
    made = next((name for name in node.output if name), "")
    return f"the {node.op_type} that makes '{made}'"


def dtype_name(elem_type: int) -> str:
    """numpy's name for an ONNX element type: float32, int64, bool."""
    if elem_type == TensorProto.UNDEFINED or elem_type not in TensorProto.DataType.values():
        return "unknown"
    if elem_type == TensorProto.STRING:
        return "string"
    if elem_type == TensorProto.BFLOAT16:
        return "bfloat16"
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
    except (KeyError, TypeError):
        return str(TensorProto.DataType.Name(elem_type)).lower()


def elem_type_of(dtype: str) -> int | None:
    """The ONNX element type for numpy's name, if there is one."""
    wanted = {"double": "float64", "float": "float32"}.get(dtype, dtype)
    for elem_type in TensorProto.DataType.values():
        if elem_type != TensorProto.UNDEFINED and dtype_name(elem_type) == wanted:
            return int(elem_type)
    return None


def dtype_of(value: ValueInfoProto) -> str:
    return dtype_name(value.type.tensor_type.elem_type)


def shape_of(value: ValueInfoProto) -> tuple[int | str, ...] | None:
    """Sizes, symbols, or "" for a dimension without either; None when there is no shape at all."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param
        for dim in value.type.tensor_type.shape.dim
    )


def real_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """Inputs that somebody must give: old files list their weights as inputs too."""
    stored = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in stored]


def made_by(graph: GraphProto) -> dict[str, NodeProto]:
    """The node that makes each tensor of `graph`."""
    return {name: node for node in graph.node for name in node.output if name}


def reads_of(node: NodeProto) -> set[str]:
    """Tensors that a node needs, those that its inner graphs take from outside included."""
    names = {name for name in node.input if name}
    for inner in inner_graphs(node):
        own = {tensor.name for tensor in inner.initializer} | {value.name for value in inner.input}
        for child in inner.node:
            names |= reads_of(child) - own
            own |= set(child.output)
        names |= {value.name for value in inner.output} - own
    return names


def all_names(model: ModelProto) -> set[str]:
    """Every tensor name in use."""
    names: set[str] = set()
    for graph in graphs(model):
        names.update(value.name for value in graph.input)
        names.update(value.name for value in graph.output)
        names.update(tensor.name for tensor in graph.initializer)
        for node in graph.node:
            names.update(node.input)
            names.update(node.output)
    return names


def free_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or it with the first number that is free; the answer is taken from now on."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name
