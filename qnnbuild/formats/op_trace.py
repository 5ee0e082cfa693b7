"""qnn_op_trace.json: which ONNX nodes the QNN plugin made which QNN operators of.

The plugin's documentation names the fields of schema version 2; what stands in them was seen with
onnxruntime-qnn 2.7.0. Names of nodes are those of the graph that the plugin got from ONNX Runtime,
which has changed some of them. A source of type TENSOR is what two nodes of a group hand over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qnnbuild.formats.format_error import FormatError

SCHEMA_VERSION = 2
ALONE = "OrtNodeUnit"
"""The group of one node, with the QuantizeLinear and DequantizeLinear nodes around it."""


@dataclass(frozen=True, kw_only=True)
class OpMapping:
    name: str  # of the QNN operator
    operator: str  # its type
    group: str  # OrtNodeUnit, or the fusion: GeluFusion, …
    nodes: tuple[str, ...]  # that it was made of


@dataclass(frozen=True, kw_only=True)
class UnsupportedNode:
    name: str
    operator: str
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class OpTraceFacts:
    kind: str = "op trace"
    size: int
    soc_models: tuple[int, ...]
    mappings: tuple[OpMapping, ...]
    unsupported: tuple[UnsupportedNode, ...]
    summary: Mapping[str, Any] = field(default_factory=dict)


def read_op_trace(data: bytes | memoryview) -> OpTraceFacts:
    """Raises FormatError for a file that is not whole, or of another schema version."""
    try:
        told = json.loads(bytes(data))
        version = told["schema_version"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise FormatError("no op trace: it is no JSON with a schema_version") from None
    if version != SCHEMA_VERSION:
        raise FormatError(f"an op trace of schema version {version}; {SCHEMA_VERSION} is known")
    try:
        return OpTraceFacts(
            size=len(data),
            soc_models=tuple(t["compilation_target"]["soc_model"] for t in told["soc_traces"]),
            mappings=tuple(
                _mapping(one) for part in told["subgraph_traces"] for one in part["op_mappings"]
            ),
            unsupported=tuple(_unsupported(one) for one in told["unsupported_nodes"]),
            summary=told["summary"],
        )
    except (LookupError, TypeError, AttributeError):
        raise FormatError("an op trace that lacks fields of its schema version") from None


def _mapping(one: Mapping[str, Any]) -> OpMapping:
    nodes = (source["name"] for source in one["sources"] if source["type"] == "OP")
    return OpMapping(
        name=one["dst_name"],
        operator=one["dst_qnn_op_type"],
        group=one["node_group_type"],
        nodes=tuple(dict.fromkeys(nodes)),
    )


def _unsupported(one: Mapping[str, Any]) -> UnsupportedNode:
    name, operator = one["node_name"], one["op_type"]
    # the plugin says it twice; the second sentence is only that the node goes elsewhere
    repeated = f"{operator} node `{name}` will not be assigned to QNN EP."
    reason = one.get("reason", "").replace(repeated, "").strip()
    return UnsupportedNode(name=name, operator=operator, reason=reason or None)
