"""Nodes that the CPU runs, out of two sources: the compiled file's, and the op trace's. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Nodes = Sequence[Mapping[str, Any]]
"""{node, operator, reason} each; those of an op trace have the "runtime_name" too."""


def accounted(left: Nodes, traced: Nodes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All nodes, each once, and those that only one of the two sources has.

    `left` are nodes of the ctx.onnx that no context holds, with what the log gives as reason. The
    op trace has the better names and reasons; a node that it does not name is told all the same.
    """
    open_ = list(traced)
    nodes: list[dict[str, Any]] = []
    differs: list[dict[str, Any]] = []
    for one in left:
        twin = next((other for other in open_ if _same(one, other)), None)
        if twin is None:
            nodes.append(_told(one))
            differs.append({**_named(one), "only_in": "ctx.onnx"})
        else:
            open_.remove(twin)
            nodes.append(_told({**twin, "reason": twin["reason"] or one["reason"]}))
    # the runtime may still have folded these away; they are not in what ships
    differs += [{**_named(other), "only_in": "op trace"} for other in open_]
    return nodes, differs


def _same(left: Mapping[str, Any], traced: Mapping[str, Any]) -> bool:
    names = (traced["node"], traced["runtime_name"])
    return left["operator"] == traced["operator"] and left["node"] in names


def _named(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"node": one["node"], "operator": one["operator"]}


def _told(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**_named(one), "reason": one["reason"]}
