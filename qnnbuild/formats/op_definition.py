"""Reader of the XML that defines operators of one's own, as qnn-op-package-generator takes it.

An OpDefCollection has OpDefs, which say what goes in and out, and for each backend supplements that
say which types it takes where the definition says BACKEND_SPECIFIC.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qnnbuild.formats.format_error import FormatError

BY_BACKEND = "BACKEND_SPECIFIC"
PREFIX = "QNN_DATATYPE_"
TYPES = frozenset(
    (
        *(f"{kind}_{bits}" for kind in ("INT", "UINT") for bits in (8, 16, 32, 64)),
        *(f"{kind}FIXED_POINT_{bits}" for kind in ("S", "U") for bits in (4, 8, 16, 32)),
        *("FLOAT_16", "FLOAT_32", "FLOAT_64", "BFLOAT_16", "BOOL_8", "STRING", "UNDEFINED"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Port:
    """One input, output or parameter."""

    name: str
    mandatory: bool = True
    repeated: bool = False  # as many as one likes
    types: tuple[str, ...] = ()  # float_32, ufixed_point_8; none: any


@dataclass(frozen=True, kw_only=True)
class OpDefinition:
    name: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    parameters: tuple[Port, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OpDefinitions:
    package: str
    domain: str = ""
    operators: Mapping[str, OpDefinition]


def read_op_definitions(data: bytes, backend: str = "HTP") -> OpDefinitions:
    """Raises FormatError for what the generator would not take either."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise FormatError("it defines a document type, which no definition of operators has")
    try:
        root = ET.fromstring(data)  # noqa: S314 - without a document type nothing can be expanded
    except ET.ParseError as error:
        raise FormatError(f"not XML: {error}") from None
    if root.tag != "OpDefCollection":
        raise FormatError(f"it begins with <{root.tag}>, not with <OpDefCollection>")
    package = root.get("PackageName", "")
    if not package:
        raise FormatError("OpDefCollection has no PackageName")
    known = {op.name: op for op in map(_operator, root.findall("OpDefList/OpDef"))}
    if not known:
        raise FormatError("it defines no operator: no OpDefList with an OpDef")
    for part in root.findall("SupplementalOpDefList"):
        if part.get("Backend", backend) == backend:
            for more in map(_operator, part.findall("SupplementalOpDef")):
                if more.name in known:
                    known[more.name] = _supplemented(known[more.name], more)
    return OpDefinitions(package=package, domain=root.get("Domain", ""), operators=known)


def _operator(node: ET.Element) -> OpDefinition:
    name = _text(node, "Name")
    if not name:
        raise FormatError("an operator has no Name")
    return OpDefinition(
        name=name,
        inputs=tuple(_ports(name, node, "Input")),
        outputs=tuple(_ports(name, node, "Output")),
        parameters=tuple(_ports(name, node, "Parameter")),
    )


def _ports(operator: str, node: ET.Element, kind: str) -> Iterator[Port]:
    for child in node.findall(kind):
        name = _text(child, "Name")
        if not name:
            raise FormatError(f"{operator}: one {kind} has no Name")
        yield Port(
            name=name,
            mandatory=_text(child, "Mandatory").lower() != "false",
            repeated=_text(child, "Repeated").lower() == "true",
            types=tuple(_types(f"{operator}, {kind} {name}", child)),
        )


def _types(where: str, node: ET.Element) -> Iterator[str]:
    for child in node.findall("Datatype"):
        word = (child.text or "").strip()
        if word == BY_BACKEND:
            continue
        if word.removeprefix(PREFIX) not in TYPES or not word.startswith(PREFIX):
            raise FormatError(f"{where}: '{word}' is no data type of QNN's")
        yield word.removeprefix(PREFIX).lower()


def _supplemented(one: OpDefinition, more: OpDefinition) -> OpDefinition:
    def joined(ports: tuple[Port, ...], extra: tuple[Port, ...]) -> tuple[Port, ...]:
        types = {port.name: port.types for port in extra if port.types}
        return tuple(
            Port(
                name=port.name,
                mandatory=port.mandatory,
                repeated=port.repeated,
                types=types.get(port.name, port.types),
            )
            for port in ports
        )

    return OpDefinition(
        name=one.name,
        inputs=joined(one.inputs, more.inputs),
        outputs=joined(one.outputs, more.outputs),
        parameters=joined(one.parameters, more.parameters),
    )


def _text(node: ET.Element, name: str) -> str:
    return (node.findtext(name) or "").strip()
