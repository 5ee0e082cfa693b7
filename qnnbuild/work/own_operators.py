"""Operators of the user's own in a graph: what is known of them, and whether nodes fit to it.

Nothing can infer the shape of what they make, and ONNX Runtime's CPU has none of them: so what the
file says of their outputs is kept, and the model is compared with nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnx import ModelProto, NodeProto, ValueInfoProto

from qnnbuild.errors import did_you_mean
from qnnbuild.work import shapes
from qnnbuild.work.op_packages import OPERATORS
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import STANDARD, dtype_of, label, nodes, shape_of

SEPARATORS = ":;,"

SAID_AS = {
    "float32": "float_32", "float16": "float_16", "float64": "float_64", "bfloat16": "bfloat_16",
    "bool": "bool_8", "int8": "int_8", "int16": "int_16", "int32": "int_32", "int64": "int_64",
    "uint8": "uint_8", "uint16": "uint_16", "uint32": "uint_32", "uint64": "uint_64",
}  # fmt: skip
"""numpy's name → QNN's, as a definition has it."""

QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")


class OwnOperators:
    """What the recipe's packages bring: operator → its definition, None without an XML."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = known

    @classmethod
    def of(cls, run: Run) -> OwnOperators:
        if "operators" not in run.inputs:
            return cls({})
        text = (run.inputs["operators"] / OPERATORS).read_text(encoding="utf-8")
        return cls(json.loads(text))

    def __contains__(self, node: object) -> bool:
        assert isinstance(node, NodeProto)
        return node.op_type in self.known and node.domain not in STANDARD

    def check(self, run: Run, model: ModelProto) -> None:
        """Each package is of use, its nodes are as its XML says, and their outputs have shapes."""
        mine = [node for node in nodes(model) if node in self]
        for op in self.known:
            if not any(node.op_type == op for node in mine):
                raise _unused(op, model)
        for node in mine:
            if set(node.domain) & set(SEPARATORS):
                raise _bad(node, f"its domain '{node.domain}' has one of {SEPARATORS} in it")
            if (definition := self.known[node.op_type]) is not None:
                _check_node(run, node, definition, _types_of(model))
        told = {value.name: value for value in [*model.graph.value_info, *model.graph.output]}
        for node in mine:
            for name in filter(None, node.output):
                if not _is_whole(told.get(name)):
                    raise _unshaped(node, name, told.get(name))

    def infer(self, model: ModelProto) -> ModelProto:
        """As `shapes.infer`; what the file says of these operators' outputs is not forgotten."""
        if not self.known:
            return shapes.infer(model)
        made = {name for node in model.graph.node if node in self for name in node.output}
        inner = [value for value in model.graph.value_info if value.name in made]
        kept = [ValueInfoProto.FromString(value.SerializeToString()) for value in inner]
        return shapes.infer(model, kept)


def _check_node(
    run: Run, node: NodeProto, definition: Mapping[str, Any], types: Mapping[str, str]
) -> None:
    for kind, given in (("input", list(node.input)), ("output", list(node.output))):
        ports: Sequence[Mapping[str, Any]] = definition[f"{kind}s"]
        wanted = sum(port["mandatory"] for port in ports)
        most = None if any(port["repeated"] for port in ports) else len(ports)
        if len(given) < wanted or (most is not None and len(given) > most):
            raise _bad(
                node,
                f"it has {len(given)} {kind}s",
                facts=[("the XML has", ", ".join(map(_port, ports)) or "none")],
            )
        for name, port in zip(given, ports, strict=False):
            said = SAID_AS.get(types.get(name, ""), "")
            if said and port["types"] and said not in port["types"]:
                run.warn(
                    f"{label(node)}: {kind} '{port['name']}' gets {types[name]}, and the XML has "
                    f"{', '.join(port['types'])}",
                    place=f"op_packages.{node.op_type}.xml",
                )
    _check_parameters(node, definition["parameters"])


def _check_parameters(node: NodeProto, ports: Sequence[Mapping[str, Any]]) -> None:
    known = {port["name"]: port for port in ports}
    has = [attribute.name for attribute in node.attribute]
    for name in has:
        if name not in known:
            raise _bad(
                node,
                f"it has an attribute '{name}'",
                facts=[("the XML has", ", ".join(map(_port, ports)) or "no parameters")],
                hint=did_you_mean(name, known),
            )
    for name, port in known.items():
        if port["mandatory"] and name not in has:
            raise _bad(node, f"it has no attribute '{name}'", facts=[("the XML wants", name)])


def _port(port: Mapping[str, Any]) -> str:
    often = ", any number" if port["repeated"] else ""
    return f"{port['name']}{'' if port['mandatory'] else ' (may be left out)'}{often}"


def _types_of(model: ModelProto) -> Mapping[str, str]:
    """Tensors' types, without those that a quantizer stands beside: these get others."""
    graph = model.graph
    values = [*graph.value_info, *graph.input, *graph.output]
    around = set(_around_quantizers(graph.node))
    return {value.name: dtype_of(value) for value in values if value.name not in around}


def _around_quantizers(all_nodes: Sequence[NodeProto]) -> Iterator[str]:
    for node in all_nodes:
        if node.op_type in QUANTIZERS:
            yield from (*node.input, *node.output)


def _is_whole(value: ValueInfoProto | None) -> bool:
    shape = shape_of(value) if value is not None else None
    return shape is not None and all(isinstance(size, int) and size > 0 for size in shape)


def _unused(op: str, model: ModelProto) -> WorkError:
    others = sorted({node.op_type for node in nodes(model) if node.domain not in STANDARD})
    standard = any(node.op_type == op for node in nodes(model))
    said = (
        f"'{op}' is an operator of ONNX in this graph, which no package can replace"
        if standard
        else f"no node of the graph is a '{op}'"
    )
    return WorkError(
        said,
        place=f"op_packages.{op}",
        facts=[("operators outside of ONNX", ", ".join(others) or "none")],
        hint=did_you_mean(op, others),
        exit_code=2,
    )


def _unshaped(node: NodeProto, name: str, value: ValueInfoProto | None) -> WorkError:
    shape = shapes.written(shape_of(value) if value is not None else None)
    return WorkError(
        f"{label(node)} makes '{name}', of which the file says {shape}",
        place=f"op_packages.{node.op_type}",
        hint="nothing can infer it: write it into the ONNX file, as the type of a value_info or of "
        "an output, with numbers only",
        exit_code=2,
    )


def _bad(
    node: NodeProto,
    said: str,
    *,
    facts: list[tuple[str, str]] | None = None,
    hint: str | None = None,
) -> WorkError:
    return WorkError(
        f"{label(node)} is not as its package says: {said}",
        place=f"op_packages.{node.op_type}",
        facts=facts or (),
        hint=hint,
        exit_code=2,
    )
