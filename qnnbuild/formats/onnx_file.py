"""ONNX files: versions, inputs and outputs, operators, weights and the side files they are in.

Read from the wire format itself, so that files of any size are read without loading their weights,
and files that the onnx package refuses can still be described. Field numbers: onnx.proto3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from qnnbuild.formats import protobuf
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.protobuf import Value
from qnnbuild.formats.tensor import TensorFacts

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "str", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
    19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1",
}  # fmt: skip
MAX_DEPTH = 32
MAX_ELEMENTS = 1 << 62


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    name: str
    op: str  # with its domain in front, when it is not ONNX's own
    attributes: Mapping[str, int | str | memoryview]  # integers and texts; long bytes as they are


@dataclass(frozen=True, kw_only=True)
class SideFile:
    name: str
    needs: int  # bytes: the end of the last tensor in it


@dataclass(frozen=True, kw_only=True)
class OnnxFacts:
    kind: str = "ONNX"
    size: int
    ir_version: int
    opsets: Mapping[str, int]
    producer: str
    graph: str
    inputs: tuple[TensorFacts, ...]  # without those that are only weights
    outputs: tuple[TensorFacts, ...]
    operators: tuple[tuple[str, int], ...]  # most frequent first; subgraphs and functions included
    weights: int  # numbers in initializers
    side_files: tuple[SideFile, ...]
    metadata: Mapping[str, str]
    quantized: bool  # it has QuantizeLinear or DequantizeLinear


def may_be_onnx(data: memoryview) -> bool:
    """ONNX writers put the IR version first."""
    return len(data) > 2 and data[0] == 0x08 and data[1] < 0x80


def read_onnx(data: memoryview) -> OnnxFacts:
    """Raises FormatError when the bytes are no ONNX model or end too early."""
    return read_model(data)[0]


def read_model(data: memoryview) -> tuple[OnnxFacts, tuple[NodeFacts, ...]]:
    """The facts, and the nodes of the main graph."""
    model = _Model()
    for number, value in protobuf.fields(data):
        model.take(number, value)
    if model.ir_version is None or model.graph is None:
        raise FormatError("not an ONNX model: no IR version or no graph")
    main = _Graph()
    main.read(model.graph, model, depth=0)
    facts = OnnxFacts(
        size=len(data),
        ir_version=model.ir_version,
        opsets=model.opsets,
        producer=" ".join(model.producer),
        graph=main.name,
        inputs=tuple(i for i in main.inputs if i.name not in main.initializers),
        outputs=tuple(main.outputs),
        operators=tuple(sorted(model.operators.items(), key=lambda item: (-item[1], item[0]))),
        weights=model.weights,
        side_files=tuple(SideFile(name=n, needs=s) for n, s in sorted(model.side_files.items())),
        metadata=model.metadata,
        quantized=any(op in model.operators for op in ("QuantizeLinear", "DequantizeLinear")),
    )
    return facts, tuple(main.nodes)


@dataclass
class _Model:
    ir_version: int | None = None
    producer: list[str] = field(default_factory=list)
    graph: memoryview | None = None
    opsets: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    operators: Counter[str] = field(default_factory=Counter)
    side_files: dict[str, int] = field(default_factory=dict)
    weights: int = 0

    def take(self, number: int, value: Value) -> None:
        if number == 1:
            self.ir_version = protobuf.integer(value)
        elif number in (2, 3):
            self.producer.append(protobuf.text(value))
        elif number == 7:
            graph = protobuf.message(value)
            # what stands there twice is one message in two parts
            self.graph = graph if self.graph is None else memoryview(self.graph.tobytes() + graph)
        elif number == 8:
            domain, version = _pair(value)
            self.opsets[domain] = version if isinstance(version, int) else _number(version or "0")
        elif number == 14:
            key, text = _pair(value)
            self.metadata[key] = str(text)
        elif number == 25:
            for part, node in protobuf.fields(protobuf.message(value)):
                if part == 7:
                    read_node(protobuf.message(node), self, depth=1)


@dataclass
class _Graph:
    name: str = ""
    nodes: list[NodeFacts] = field(default_factory=list)
    initializers: set[str] = field(default_factory=set)
    inputs: list[TensorFacts] = field(default_factory=list)
    outputs: list[TensorFacts] = field(default_factory=list)

    def read(self, message: memoryview, model: _Model, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise FormatError(f"its subgraphs are more than {MAX_DEPTH} deep")
        for number, value in protobuf.fields(message):
            if number == 1:
                self.nodes.append(read_node(protobuf.message(value), model, depth))
            elif number == 2:
                self.name = protobuf.text(value)
            elif number == 5:
                self.initializers.add(_tensor(protobuf.message(value), model))
            elif number == 11:
                self.inputs.append(_value_info(protobuf.message(value)))
            elif number == 12:
                self.outputs.append(_value_info(protobuf.message(value)))


def read_node(message: memoryview, model: _Model, depth: int) -> NodeFacts:
    name, op, domain = "", "", ""
    attributes: dict[str, int | str | memoryview] = {}
    for number, value in protobuf.fields(message):
        if number == 3:
            name = protobuf.text(value)
        elif number == 4:
            op = protobuf.text(value)
        elif number == 7:
            domain = protobuf.text(value)
        elif number == 5:
            attributes.update(_attribute(protobuf.message(value), model, depth))
    full = op if domain in ("", "ai.onnx") else f"{domain}:{op}"
    model.operators[full] += 1
    return NodeFacts(name=name, op=full, attributes=attributes)


def _attribute(
    message: memoryview, model: _Model, depth: int
) -> Iterator[tuple[str, int | str | memoryview]]:
    name = ""
    found: int | str | memoryview | None = None
    for number, value in protobuf.fields(message):
        if number == 1:
            name = protobuf.text(value)
        elif number == 3:
            found = protobuf.integer(value)
        elif number == 4:
            found = _text_or_bytes(protobuf.message(value))
        elif number in (5, 10):
            _tensor(protobuf.message(value), model)
        elif number in (6, 11):
            _Graph().read(protobuf.message(value), model, depth + 1)
    if found is not None:
        yield name, found


def _text_or_bytes(value: memoryview) -> str | memoryview:
    if len(value) > 4096:
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return value


def _tensor(message: memoryview, model: _Model) -> str:
    """Count a tensor's numbers and note its place in a side file; gives its name."""
    name, count = "", 1
    place: dict[str, str] = {}
    for number, value in protobuf.fields(message):
        if number == 1:
            for size in protobuf.varints(value):
                count = min(count * size, MAX_ELEMENTS)
        elif number == 8:
            name = protobuf.text(value)
        elif number == 13:
            key, text = _pair(value)
            place[key] = str(text)
    model.weights = min(model.weights + count, MAX_ELEMENTS)
    if "location" in place:
        end = _number(place.get("offset", "0")) + _number(place.get("length", "0"))
        model.side_files[place["location"]] = max(end, model.side_files.get(place["location"], 0))
    return name


def _number(text: str) -> int:
    if len(text) > 20 or not (text.isascii() and text.isdigit()):
        raise FormatError(f"damaged: '{text[:40]}' is no whole number")
    return int(text)


def _value_info(message: memoryview) -> TensorFacts:
    name, dtype = "", "?"
    shape: tuple[int | str, ...] = ()
    for number, value in protobuf.fields(message):
        if number == 1:
            name = protobuf.text(value)
        elif number == 2:
            dtype, shape = _type(protobuf.message(value))
    return TensorFacts(name=name, dtype=dtype, shape=shape)


def _type(message: memoryview) -> tuple[str, tuple[int | str, ...]]:
    for number, value in protobuf.fields(message):
        if number != 1:
            return {4: "sequence", 5: "map", 8: "sparse tensor", 9: "optional"}.get(number, "?"), ()
        dtype, shape = "?", list[int | str]()
        for part, inner in protobuf.fields(protobuf.message(value)):
            if part == 1:
                code = protobuf.integer(inner)
                dtype = DTYPES.get(code, str(code))
            elif part == 2:
                shape = [
                    _dimension(d) for n, d in protobuf.fields(protobuf.message(inner)) if n == 1
                ]
        return dtype, tuple(shape)
    return "?", ()


def _dimension(value: Value) -> int | str:
    for number, inner in protobuf.fields(protobuf.message(value)):
        if number == 1:
            return protobuf.integer(inner)
        if number == 2:
            return protobuf.text(inner) or "?"
    return "?"


def _pair(value: Value) -> tuple[str, str | int]:
    """A message of two fields: text, then text or a number."""
    key: str = ""
    found: str | int = ""
    for number, inner in protobuf.fields(protobuf.message(value)):
        if number == 1:
            key = protobuf.text(inner)
        elif number == 2:
            found = protobuf.integer(inner) if isinstance(inner, int) else protobuf.text(inner)
    return key, found
