"""Patterns of nodes that become one QNN operator together, and where a graph has them.

The patterns are in plugin_fusions.json: a chain of nodes, each the only reader of the one before,
and conditions on it that have names here.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto

from qnnbuild.work.chains import CONDITIONS, Chain, single_number
from qnnbuild.work.node_facts import QUANTIZE, NodeFacts

TABLE = Path(__file__).with_name("plugin_fusions.json")
"""Beside a module of its name, so that the keys contain it."""


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """A row of the table."""

    name: str  # the plugin's
    documented: bool
    pattern: str  # in words
    qnn: str
    note: str
    by: str  # plugin, onnxruntime (before the plugin sees the graph), or nobody: never seen
    forms: tuple[str, ...]  # in which it was seen; see NodeFacts.form; empty: whatever
    since: int  # where ONNX Runtime does it: from this opset on, before it is the plugin
    chain: tuple[Mapping[str, Any], ...]
    where: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Expected:
    fusion: str
    by: str
    qnn: str
    nodes: tuple[str, ...]


@functools.cache
def table() -> tuple[Fusion, ...]:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["fusions"]
    return tuple(
        Fusion(
            name=row["name"],
            documented=row["documented"],
            pattern=row["pattern"],
            qnn=row["qnn"],
            note=row.get("note", ""),
            by=row["by"],
            forms=tuple(row.get("forms", ())),
            since=row.get("since", 0),
            chain=tuple(row["chain"]),
            where=tuple(row.get("where", ())),
        )
        for row in rows
    )


def expected_fusions(model: ModelProto) -> list[Expected]:
    """In the order of the table; a node is in one fusion at most, the longest chain first."""
    facts = NodeFacts(model)
    taken: set[int] = set()
    found: list[Expected] = []
    for fusion in sorted(table(), key=lambda one: -len(one.chain)):
        if fusion.by == "nobody":
            continue
        for node in facts.nodes:
            chain = _match(fusion, node, facts)
            if chain is None or any(id(one) in taken for one in chain.nodes):
                continue
            taken.update(id(one) for one in chain.nodes)
            names = tuple(one.name for one in chain.nodes)
            older = facts.opset < fusion.since
            by = "plugin" if older or CONDITIONS["quantized before"](chain) else fusion.by
            found.append(Expected(fusion=fusion.name, by=by, qnn=fusion.qnn, nodes=names))
    return found


def _match(fusion: Fusion, first: NodeProto, facts: NodeFacts) -> Chain | None:
    for nodes in _chains(fusion.chain, first, facts):
        chain = Chain(nodes=nodes, facts=facts)
        if fusion.forms and facts.form(nodes[0], 0) not in fusion.forms:
            continue
        if all(CONDITIONS[name](chain) for name in fusion.where):
            return chain
    return None


def _chains(
    steps: Sequence[Mapping[str, Any]], node: NodeProto | None, facts: NodeFacts
) -> Iterator[list[NodeProto]]:
    """All ways to walk the steps from `node` on; the one with most nodes first."""
    if not steps:
        yield []
        return
    step = steps[0]
    if node is not None and _fits(step, node, facts):
        if len(steps) == 1:
            yield [node]
            return
        for follows in _followers(step, node, facts, plain=steps[1]["op"] == [QUANTIZE]):
            yield from ([node, *others] for others in _chains(steps[1:], follows, facts))
    if step.get("optional"):
        yield from _chains(steps[1:], node, facts)


def _followers(
    step: Mapping[str, Any], node: NodeProto, facts: NodeFacts, *, plain: bool
) -> Sequence[NodeProto | None]:
    """What may come next: of a result that the pattern itself reads twice, each reader.

    None: nothing does, and steps that are optional may be left out.
    """
    if step.get("shared"):
        return facts.readers.get(node.output[0], [])
    found = facts.only_reader(node) if plain else facts.next_layer(node)
    return [found]


def _fits(step: Mapping[str, Any], node: NodeProto, facts: NodeFacts) -> bool:
    if node.op_type not in step["op"]:
        return False
    wanted = step.get("number")
    if wanted is None:
        return True
    number = single_number(node, facts)
    return number is not None and (
        wanted == "any" or any(abs(number - w) < 0.01 * w for w in wanted)
    )
