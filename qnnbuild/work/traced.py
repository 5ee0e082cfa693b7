"""An op trace in the user's names: each node of the model and what the compiler made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats.op_trace import ALONE, OpMapping, OpTraceFacts

MADE_ANEW = re.compile(r"(_token_\d+)+$")
"""What ONNX Runtime appends to a name when it makes a node once more, or one of its own."""

QUANTIZING = frozenset({"QuantizeLinear", "DequantizeLinear"})
COMPUTES_NOTHING = QUANTIZING | {"Constant"}
"""Nodes that nobody misses where the plugin got none of them."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the model, or of the graph that the plugin got."""

    name: str
    operator: str
    outputs: tuple[str, ...] = ()


class Names:
    """The plugin's names of nodes → the model's and the user's."""

    def __init__(
        self, nodes: Sequence[Node], got: Sequence[Node], renamed: Mapping[str, str]
    ) -> None:
        """`nodes` are the model's, `got` the plugin's; `renamed`: the model's names → the user's"""
        self.known = {node.name: node.operator for node in nodes if node.name}
        self.got = {node.name: node for node in got}
        self.renamed = renamed
        self._makers = {tensor: node for node in nodes for tensor in node.outputs}
        self._by_length = sorted(self.known, key=len, reverse=True)

    def users(self, name: str) -> str:
        return self.renamed.get(name) or name

    def operator(self, name: str) -> str | None:
        return self.got[name].operator if name in self.got else None

    def in_model(self, name: str) -> str | None:
        """None for what the model does not have: a Transpose that the runtime put in."""
        if self._is(name, name):
            return name
        for tensor in self.got[name].outputs if name in self.got else ():
            maker = self._makers.get(tensor)
            if maker is not None and self._is(maker.name, name):
                return maker.name
        base = MADE_ANEW.sub("", name)
        # where both are there, the one with the longer name is the runtime's own
        if base not in self.got and self._is(base, name):
            return base
        return next((k for k in self._by_length if _is_fused(base, k)), None)

    def _is(self, known: str, name: str) -> bool:
        """The node is there, and computes the same where it is known what it computes."""
        return known in self.known and self.operator(name) in (None, self.known[known])


def _is_fused(name: str, first: str) -> bool:
    """A node that the runtime fused is called after the first of it: mm/MatMulAddFusion."""
    return name.startswith(f"{first}/") and name.endswith("Fusion")


@dataclass(frozen=True)
class _Group:
    """Nodes of the model that became QNN operators together."""

    kind: str
    nodes: tuple[str, ...]  # the model's names, without the quantizing around others


def traced(facts: OpTraceFacts, nodes: Sequence[Node], names: Names) -> dict[str, Any]:
    """`nodes` are the model's, in order. Plain data, as it is written into op_trace.json."""
    groups, added, around = _groups(facts.mappings, names)
    by_node: dict[str, list[_Group]] = {}
    for group in groups:
        for name in group.nodes:
            by_node.setdefault(name, []).append(group)
    on_cpu = list(_on_cpu(facts, names))
    elsewhere = {names.in_model(one.name) for one in facts.unsupported} | around
    gone = [
        n
        for n in nodes
        if not (n.name in by_node or n.name in elsewhere or n.operator in COMPUTES_NOTHING)
    ]
    return {
        "nodes": [
            {
                "node": names.users(node.name),
                "operator": node.operator,
                "qnn": [made for group in by_node[node.name] for made in groups[group]],
                "fusion": _fusion_of(by_node[node.name]),
            }
            for node in nodes
            if node.name in by_node
        ],
        "fusions": list(_fusions(groups, nodes, names)),
        "on_cpu": on_cpu,
        "gone": [{"node": names.users(node.name), "operator": node.operator} for node in gone],
        "added": added,
        "summary": {
            "nodes": len(nodes),
            "qnn_operators": len(facts.mappings),
            "fusions": sum(1 for group in groups if _is_fusion(group)),
            "on_cpu": len(on_cpu),
            "gone": len(gone),
            "added": len(added),
            "told_by_the_plugin": dict(facts.summary),
        },
    }


Made = dict[str, str]


def _groups(
    mappings: Iterable[OpMapping], names: Names
) -> tuple[dict[_Group, list[Made]], list[Made], set[str]]:
    """Groups with their QNN operators, operators of no node, and quantizing nodes around others."""
    groups: dict[_Group, list[Made]] = {}
    added: list[Made] = []
    around: set[str] = set()
    for mapping in mappings:
        made = {"name": mapping.name, "operator": mapping.operator}
        found = [n for n in map(names.in_model, mapping.nodes) if n is not None]
        computing = [n for n in found if names.known[n] not in QUANTIZING]
        # a Transpose of the runtime's own brings quantizing nodes of the model along
        inserted = any(
            names.in_model(node) is None and names.operator(node) not in QUANTIZING
            for node in mapping.nodes
        )
        if computing:
            around.update(n for n in found if n not in computing)
        elif inserted or not found:
            around.update(found)
            added.append(made)
            continue
        members = tuple(dict.fromkeys(computing or found))
        groups.setdefault(_Group(mapping.group, members), []).append(made)
    return groups, added, around


def _on_cpu(facts: OpTraceFacts, names: Names) -> Iterator[dict[str, Any]]:
    for one in facts.unsupported:
        found = names.in_model(one.name)
        yield {
            "node": one.name if found is None else names.users(found),
            "operator": one.operator,
            "reason": one.reason,
            "runtime_name": one.name,
        }


def _is_fusion(group: _Group) -> bool:
    return group.kind != ALONE or len(group.nodes) > 1


def _fusion_of(groups: Sequence[_Group]) -> str | None:
    return next((group.kind for group in groups if _is_fusion(group)), None)


def _fusions(
    groups: Mapping[_Group, Sequence[Made]], nodes: Sequence[Node], names: Names
) -> Iterator[dict[str, Any]]:
    order = {node.name: place for place, node in enumerate(nodes)}
    for group in sorted(filter(_is_fusion, groups), key=lambda g: order[g.nodes[0]]):
        yield {
            "fusion": group.kind,
            "nodes": [names.users(name) for name in group.nodes],
            "qnn": list(groups[group]),
        }
