"""A case of the atlas: one tiny model that asks one question of the compiler."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]

FLOATS = {"f32": "float32", "f16": "float16"}
WHOLE = {"i32": "int32", "i64": "int64", "bool": "bool"}
QUANTIZED = {"a8": "uint8", "a16": "uint16"}
FORMS = (*FLOATS, *WHOLE, *QUANTIZED)
WEIGHTS = "int8"
OPSET = 21
IR = 10
DOMAINS = {"com.microsoft": 1}


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """An input or constant. `dtype` None: it has the type of the form."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None
    value: Array | None = None  # a constant with these numbers
    constant: bool = False

    def draw(self, name: str, dtype: str) -> Array:
        """The same numbers each time, whatever else is drawn."""
        if self.value is not None:
            given: Array = self.value.astype(dtype) if self.dtype is None else self.value
            return given
        numbers = np.random.default_rng(zlib.crc32(name.encode()))
        if dtype == "bool":
            chosen: Array = numbers.integers(0, 2, self.shape).astype(np.bool_)
            return chosen
        if dtype.startswith(("int", "uint")):
            low, high = int(np.ceil(self.low)), int(np.floor(self.high))
            low = max(low, 0) if dtype.startswith("uint") else low
            whole: Array = numbers.integers(low, high + 1, self.shape).astype(dtype)
            return whole
        drawn: Array = numbers.uniform(self.low, self.high, self.shape).astype(dtype)
        return drawn


@dataclass(frozen=True, kw_only=True)
class Spec:
    """How to ask for one operator or fusion, whatever the form."""

    name: str  # "ai.onnx:Conv", or the name of a fusion
    body: str  # nodes in the textual form of onnx
    tensors: Mapping[str, Tensor]
    outputs: Mapping[str, str | None] = field(default_factory=lambda: {"y": None})
    variant: str = ""
    forms: Sequence[str] = ("f32", "a8", "a16")
    opset: int = OPSET
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of outputs, as declared
    claim: str = "npu"  # what the documentation says of it: npu or cpu
    compared: bool = True  # False: random numbers, or positions that ties leave open
    fusion: str = ""  # the plugin's name of the fusion that is asked for


@dataclass(frozen=True, kw_only=True)
class Case:
    spec: Spec
    form: str
    model: ModelProto
    feeds: Mapping[str, Array]

    @property
    def name(self) -> str:
        return ":".join(filter(None, (self.spec.name, self.spec.variant, self.form)))


def case_of(
    spec: Spec, form: str, run: Callable[[ModelProto, Mapping[str, Array]], Sequence[Array]]
) -> Case:
    """`run` computes outputs on the CPU: ranges of quantized outputs are read off them."""
    base = "float32" if form in QUANTIZED else {**FLOATS, **WHOLE}[form]
    feeds = {
        name: tensor.draw(name, tensor.dtype or base)
        for name, tensor in spec.tensors.items()
        if not is_constant(tensor)
    }
    model = _plain(spec, base)
    answers = _answers(spec, form, model, feeds, run)
    for value in model.graph.output:
        if value.name in spec.sizes:
            sizes = spec.sizes[value.name]
            value.CopyFrom(helper.make_tensor_value_info(value.name, _elem_of(value), sizes))
        elif (
            not value.type.tensor_type.HasField("shape") and answers
        ):  # of operators that onnx does not know
            shape = answers[value.name].shape
            value.CopyFrom(helper.make_tensor_value_info(value.name, _elem_of(value), shape))
    if form in QUANTIZED:
        model = _quantized(spec, model, form, feeds, answers)
    return Case(spec=spec, form=form, model=model, feeds=feeds)


def _answers(
    spec: Spec,
    form: str,
    model: ModelProto,
    feeds: Mapping[str, Array],
    run: Callable[[ModelProto, Mapping[str, Array]], Sequence[Array]],
) -> dict[str, Array]:
    """Of the CPU; nothing where ONNX Runtime has no CPU form of the operator for these types."""
    try:
        return dict(zip(spec.outputs, run(model, feeds), strict=True))
    except Exception:
        if form in QUANTIZED:
            raise
        return {}


def is_constant(tensor: Tensor) -> bool:
    return tensor.constant or tensor.value is not None


def _plain(spec: Spec, base: str) -> ModelProto:
    stored = [
        numpy_helper.from_array(tensor.draw(name, tensor.dtype or base), name)
        for name, tensor in spec.tensors.items()
        if is_constant(tensor)
    ]
    inputs = [
        helper.make_tensor_value_info(name, _elem(tensor.dtype or base), tensor.shape)
        for name, tensor in spec.tensors.items()
        if not is_constant(tensor)
    ]
    outputs = [
        helper.make_tensor_value_info(name, _elem(dtype or base), None)
        for name, dtype in spec.outputs.items()
    ]
    body = onnx.parser.parse_graph(f"g () => () {{ {spec.body.replace('FLOAT', base)} }}")
    graph = helper.make_graph(list(body.node), "atlas", inputs, outputs, stored)
    return _finished(graph, spec)


def _finished(graph: onnx.GraphProto, spec: Spec) -> ModelProto:
    for number, node in enumerate(graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    used = {node.domain for node in graph.node} - {"", "ai.onnx"}
    imports = [helper.make_opsetid("", spec.opset)]
    imports += [helper.make_opsetid(domain, DOMAINS[domain]) for domain in sorted(used)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=IR)
    return onnx.shape_inference.infer_shapes(model)


def _elem_of(value: onnx.ValueInfoProto) -> int:
    return int(value.type.tensor_type.elem_type)


def _elem(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _quantized(
    spec: Spec, model: ModelProto, form: str, feeds: Mapping[str, Array], answers: Mapping[str, Any]
) -> ModelProto:
    """Each float input and output between a QuantizeLinear and a DequantizeLinear."""
    graph = model.graph
    kind = QUANTIZED[form]
    before: list[NodeProto] = []
    after: list[NodeProto] = []
    stored = {tensor.name: tensor for tensor in graph.initializer}
    renamed: dict[str, str] = {}
    sized: list[onnx.ValueInfoProto] = []
    for name, tensor in spec.tensors.items():
        if tensor.dtype is not None:
            continue
        renamed[name] = f"{name}_d"
        if is_constant(tensor):
            before += _stored(graph, name, numpy_helper.to_array(stored[name]))
        else:
            before += _pair(graph, name, f"{name}_d", feeds[name], kind)
    for name, dtype in spec.outputs.items():
        if dtype is None:
            renamed[name] = f"{name}_f"
            shape = np.asarray(answers[name]).shape
            sized.append(helper.make_tensor_value_info(f"{name}_f", TensorProto.FLOAT, shape))
            after += _pair(graph, f"{name}_f", name, np.asarray(answers[name]), kind)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    nodes = [*before, *graph.node, *after]
    kept = [t for t in graph.initializer if not (t.name in spec.tensors and t.name in renamed)]
    fresh = helper.make_graph(nodes, "atlas", graph.input, graph.output, kept)
    fresh.value_info.extend(sized)  # of what onnx cannot infer
    return _finished(fresh, spec)


def _pair(graph: onnx.GraphProto, name: str, out: str, seen: Array, kind: str) -> list[NodeProto]:
    scale, zero = _scale(seen, np.iinfo(kind))
    graph.initializer.append(numpy_helper.from_array(np.array(scale, np.float32), f"{name}_s"))
    graph.initializer.append(numpy_helper.from_array(np.array(zero, kind), f"{name}_z"))
    told = [f"{name}_s", f"{name}_z"]
    return [
        helper.make_node("QuantizeLinear", [name, *told], [f"{name}_q"], name=f"q_{name}"),
        helper.make_node("DequantizeLinear", [f"{name}_q", *told], [out], name=f"d_{name}"),
    ]


def _scale(seen: Array, kind: np.iinfo[Any]) -> tuple[float, int]:
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    scale = (high - low) / (kind.max - kind.min) or 1.0
    return scale, int(np.clip(round(kind.min - low / scale), kind.min, kind.max))


def _stored(graph: onnx.GraphProto, name: str, value: Array) -> list[NodeProto]:
    """Weights: signed 8 bits, symmetric."""
    scale = float(np.abs(value).max()) / 127 or 1.0
    whole = np.clip(np.round(value / scale), -127, 127).astype(WEIGHTS)
    graph.initializer.append(numpy_helper.from_array(whole, f"{name}_q"))
    graph.initializer.append(numpy_helper.from_array(np.array(scale, np.float32), f"{name}_s"))
    graph.initializer.append(numpy_helper.from_array(np.array(0, WEIGHTS), f"{name}_z"))
    told = [f"{name}_q", f"{name}_s", f"{name}_z"]
    return [helper.make_node("DequantizeLinear", told, [f"{name}_d"], name=f"d_{name}")]
