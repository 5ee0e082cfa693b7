"""Conditions on nodes, as operators.json writes them: {"attribute": "p", "in": [1, 2]}."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnx import NodeProto

from qnnbuild.work.node_facts import NodeFacts, attribute

Condition = Mapping[str, Any]


def broken(conditions: Sequence[Condition], node: NodeProto, facts: NodeFacts) -> str | None:
    """Why the first condition that is not met matters; None when all are, or it cannot be known."""
    for condition in conditions:
        when = condition.get("when")
        if when is not None and not holds(when, node, facts):
            continue
        if not holds(condition, node, facts):
            return str(condition["why"])
    return None


def holds(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    """Whether all parts of it are met; what cannot be known counts as met."""
    return all(PARTS[part](condition, node, facts) for part in condition if part in PARTS)


def _attribute(condition: Condition, node: NodeProto, _: NodeFacts) -> bool:
    value = attribute(node, condition["attribute"], condition.get("default"))
    wanted = condition["in"]
    return value in wanted


def _constant(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    """Inputs by number; what is left out is met."""
    return all(
        facts.is_constant(node.input[number])
        for number in condition["constant"]
        if number < len(node.input) and node.input[number]
    )


def _absent(condition: Condition, node: NodeProto, _: NodeFacts) -> bool:
    return not any(
        number < len(node.input) and node.input[number] for number in condition["absent"]
    )


def _rank(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    shape = facts.shape(node.input[condition.get("input", 0)]) if node.input else None
    return shape is None or len(shape) in condition["rank"]


def _dtype(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    number = condition.get("input", 0)
    kind = facts.dtype(node.input[number]) if number < len(node.input) else "unknown"
    return kind == "unknown" or kind in condition["dtype"]


def _last(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    """The last sizes of the first input."""
    shape = facts.shape(node.input[0])
    wanted = tuple(condition["last"])
    return shape is None or shape[-len(wanted) :] == wanted


def _sized(_: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    """Behind a tensor whose own size is not known here, ONNX Runtime may well know more."""
    if node.input and facts.shape(node.input[0]) is None:
        return True
    return all(facts.shape(name) is not None for name in node.output if name)


def _outputs(condition: Condition, node: NodeProto, _: NodeFacts) -> bool:
    return sum(1 for name in node.output if name) <= int(condition["outputs"])


def _inputs(condition: Condition, node: NodeProto, _: NodeFacts) -> bool:
    return sum(1 for name in node.input if name) >= int(condition["inputs"])


def _form(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    return facts.form(node, 0) in condition["form"]


def _out_rank(condition: Condition, node: NodeProto, facts: NodeFacts) -> bool:
    shape = facts.shape(node.output[0])
    return shape is None or len(shape) <= int(condition["out_rank"])


PARTS: Mapping[str, Callable[[Condition, NodeProto, NodeFacts], bool]] = {
    "attribute": _attribute,
    "constant": _constant,
    "absent": _absent,
    "rank": _rank,
    "dtype": _dtype,
    "last": _last,
    "sized": _sized,
    "outputs": _outputs,
    "inputs": _inputs,
    "form": _form,
    "out_rank": _out_rank,
}
