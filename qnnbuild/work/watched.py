"""Which inner tensors of a graph can be looked at, and what each is called in the float model.

In a float graph each node's float results can. In a quantized (QDQ) graph a result is read behind
its quantizer: to read it before would take the node out of its quantized unit, and it would
be computed otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from qnnbuild.work.borders import drop_unneeded
from qnnbuild.work.walk import made_by

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
PUT_BEFORE_OUTPUTS = "_QuantizeLinear_Input"
"""What onnxruntime's quantizer adds to the name of an output that it quantizes."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    node: str
    operator: str
    tensor: str  # in the graph that is compiled
    meant: str  # in the model that it is compared with


def watched(model: ModelProto, in_float: Collection[str]) -> list[Watched]:
    """In topological order; `in_float` are the tensors of the model to compare with."""
    makers = made_by(model.graph)
    read_by = _readers(model)
    is_float = {v.name for v in _values(model) if v.type.tensor_type.elem_type in FLOATS}
    found: list[Watched] = []
    seen: set[str] = set()
    for node in model.graph.node:
        for tensor in filter(None, node.output):
            one = _watch(node, tensor, makers, read_by)
            if one is None or tensor not in is_float:
                continue
            meant = next((name for name in one.names if name in in_float), None)
            if meant is not None and meant not in seen:
                seen.add(meant)
                found.append(
                    Watched(
                        node=one.layer.name,
                        operator=one.layer.op_type,
                        tensor=tensor,
                        meant=meant,
                    )
                )
    return found


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    layer: NodeProto
    names: tuple[str, ...]


def _watch(
    node: NodeProto,
    tensor: str,
    makers: Mapping[str, NodeProto],
    read_by: Mapping[str, Sequence[NodeProto]],
) -> _Candidate | None:
    if node.op_type == "QuantizeLinear":
        return None
    if node.op_type == "DequantizeLinear":
        quantizer = makers.get(node.input[0])
        if quantizer is None or quantizer.op_type != "QuantizeLinear":
            return None  # a weight, or an input
        result = quantizer.input[0]
        layer = makers.get(result)
        if layer is None:
            return None  # the graph's input
        names = (result, tensor, result.removesuffix(PUT_BEFORE_OUTPUTS))
        return _Candidate(layer=layer, names=names)
    reads_quantized = any(
        name in makers and makers[name].op_type == "DequantizeLinear" for name in node.input
    )
    is_quantized = any(one.op_type == "QuantizeLinear" for one in read_by.get(tensor, ()))
    if is_quantized or (reads_quantized and read_by.get(tensor)):
        return None  # inside a quantized unit
    return _Candidate(layer=node, names=(tensor,))


def _readers(model: ModelProto) -> dict[str, list[NodeProto]]:
    readers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    return readers


def _values(model: ModelProto) -> Iterator[ValueInfoProto]:
    yield from model.graph.value_info
    yield from model.graph.output


def with_outputs(model: ModelProto, tensors: Sequence[str]) -> ModelProto:
    """A copy whose outputs are its own and `tensors`."""
    copy = ModelProto()
    copy.CopyFrom(model)
    values = {value.name: value for value in copy.graph.value_info}
    there = {value.name for value in copy.graph.output}
    for tensor in tensors:
        if tensor not in there:
            value = values.get(tensor)
            copy.graph.output.append(
                value or helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None)
            )
    return copy


def ending_in(model: ModelProto, tensors: Sequence[str]) -> ModelProto:
    """A copy with no outputs but `tensors`, and nothing that they do not need."""
    copy = with_outputs(model, tensors)
    kept = [value for value in copy.graph.output if value.name in tensors]
    outputs = [ValueInfoProto.FromString(value.SerializeToString()) for value in kept]
    del copy.graph.output[:]
    copy.graph.output.extend(outputs)
    drop_unneeded(copy)
    read = {name for node in copy.graph.node for name in node.input}
    inputs = [value for value in copy.graph.input if value.name in read]
    given = [ValueInfoProto.FromString(value.SerializeToString()) for value in inputs]
    del copy.graph.input[:]
    copy.graph.input.extend(given)
    return copy


def worst_before(model: ModelProto, quality: Mapping[str, float]) -> dict[str, float]:
    """Tensor → the lowest quality among the watched tensors that it is computed from."""
    best = float("inf")
    reached: dict[str, float] = {}
    before: dict[str, float] = {}
    for node in model.graph.node:
        worst = min((reached.get(name, best) for name in node.input if name), default=best)
        for name in filter(None, node.output):
            before[name] = worst
            reached[name] = quality.get(name, worst)
    return before
