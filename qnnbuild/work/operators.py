"""The prepared graph's operators against what the QNN execution provider takes."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto

from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import nodes, operator_of, shape_of

TABLE = Path(__file__).with_name("operators.json")
"""Beside a module of its name, so that the keys contain it."""

MOST_TOLD = 8


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A row of the table."""

    on: str  # npu, fused, folded, cpu: see the table's about
    documented: bool
    note: str = ""
    tests: tuple[int, ...] = ()


@functools.cache
def table() -> Mapping[str, Operator]:
    """ "domain:Op" → what is known of it."""
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["operators"]
    return {
        name: Operator(
            on=row["on"],
            documented=row["documented"],
            note=row.get("note", ""),
            tests=tuple(row.get("tests", ())),
        )
        for name, row in rows.items()
    }


@dataclass(frozen=True, kw_only=True)
class Left:
    """A node that the NPU will not take, and why."""

    node: str  # its name
    operator: str
    why: str
    certain: bool


def left_to_cpu(model: ModelProto) -> list[Left]:
    """Nodes that the NPU will not take, as far as it can be known before compiling."""
    unsized = unsized_tensors(model.graph)
    left: list[Left] = []
    for node in model.graph.node:
        row = table().get(operator_of(node))
        if row is None:
            left.append(_left(node, "neither documented nor measured", certain=False))
        elif row.on == "cpu":
            left.append(_left(node, row.note or _never_taken(row), certain=True))
        elif node.op_type in ("NonZero", "NonMaxSuppression") and unsized.intersection(node.output):
            left.append(
                _left(node, "the size of its output is known only at run time", certain=True)
            )
    return left


def _left(node: NodeProto, why: str, *, certain: bool) -> Left:
    return Left(node=node.name, operator=operator_of(node), why=why, certain=certain)


def _never_taken(row: Operator) -> str:
    tried = f", not in one of {row.tests[1]} tests" if row.tests else ""
    return f"the plugin does not take it{tried}"


def unsized_tensors(graph: GraphProto) -> set[str]:
    """Tensors made by nodes whose shape shape inference could not find."""
    made = {name for node in graph.node for name in node.output if name}
    sized = {
        value.name
        for value in [*graph.value_info, *graph.output]
        if (shape := shape_of(value)) is not None and all(isinstance(size, int) for size in shape)
    }
    return made - sized


def check_operators(
    run: Run, model: ModelProto, *, cpu_fallback: str, own: Collection[str] = ()
) -> list[Left]:
    """Refuse what surely cannot run on the NPU when the CPU may not help; tell the rest.

    Nodes named by `own` are for packages of the user's own.
    """
    left = [one for one in left_to_cpu(model) if one.node not in own]
    certain = [one for one in left if one.certain]
    if certain and cpu_fallback == "refuse":
        first = certain[0]
        kind = first.operator.removeprefix("ai.onnx:")
        more = f", and {len(certain) - 1} more nodes do" if len(certain) > 1 else ""
        raise WorkError(
            f"node '{first.node}' ({kind}) runs on the CPU{more}",
            place="cpu_fallback",
            facts=[(one.node, f"{one.operator}: {one.why}") for one in certain[:MOST_TOLD]],
            hint="cut the graph before it with outputs:, or write cpu_fallback: allow",
            exit_code=2,
        )
    for one in left:
        if one.certain or cpu_fallback == "refuse":
            may = "runs" if one.certain else "may run"
            run.warn(
                f"node '{one.node}' ({one.operator}) {may} on the CPU: {one.why}",
                place="cpu_fallback",
            )
    return left


def notes_of(model: ModelProto) -> dict[str, str]:
    """The notes on the operators that the graph uses, for the report."""
    used = sorted({operator_of(node) for node in nodes(model)})
    return {name: row.note for name in used if (row := table().get(name)) is not None and row.note}


def count_operators(model: ModelProto) -> dict[str, int]:
    return dict(sorted(Counter(operator_of(node) for node in nodes(model)).items()))
