"""Which nodes of a graph the NPU will not take: what was measured, then what is documented."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto

from qnnbuild.work import cuts
from qnnbuild.work.conditions import broken
from qnnbuild.work.node_facts import DEQUANTIZE, QUANTIZE, NodeFacts, attribute
from qnnbuild.work.plugin_fusions import expected_fusions
from qnnbuild.work.refusals import refusals
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import dtype_name, nodes, operator_of, shape_of

TABLE = Path(__file__).with_name("operators.json")
"""Beside a module of its name, so that the keys contain it."""

MOST_TOLD = 8


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A row of the table."""

    on: str  # npu, fused, folded, cpu: see the table's about
    documented: bool
    note: str = ""
    since: Mapping[str, str]  # what → the provider's version
    needs: tuple[Mapping[str, Any], ...] = ()
    data: int = 0  # which input's type decides
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
            since=row.get("since", {}),
            needs=tuple(row.get("needs", ())),
            data=row.get("data", 0),
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
    certain: bool  # whatever the chip and the compiler's mood
    archs: tuple[int, ...] = ()  # HTP generations that it is about; all when empty


def left_to_cpu(
    model: ModelProto, archs: Sequence[int] = (), *, floats_as: str = "f32"
) -> list[Left]:
    """Nodes that the NPU will not take, as far as it can be known before compiling.

    Of some `archs` a node is told when one of them refuses it; without any when all do. A float
    model that is quantized later is looked at with `floats_as` "a8" or "a16", or "" when that is
    open: what is known of floats is left aside then.
    """
    facts = NodeFacts(model)
    unsized = unsized_tensors(model.graph)
    fused = {name for one in expected_fusions(model) for name in one.nodes}
    left: list[Left] = []
    for node in model.graph.node:
        one = _judged(node, facts, fused, unsized) or _refused(node, facts, fused, archs, floats_as)
        if one is not None:
            left.append(one)
    return left


def _judged(
    node: NodeProto, facts: NodeFacts, fused: Collection[str], unsized: Collection[str]
) -> Left | None:
    """By the table: whatever the types and the chip."""
    row = table().get(operator_of(node))
    if row is None:
        return _left(node, "neither documented nor measured", certain=False)
    if row.on == "cpu":
        return _left(node, row.note or _never_taken(row), certain=True)
    if node.name in fused:
        return None
    if row.on == "fused":
        return _left(node, f"taken inside a pattern only: {row.note}", certain=False)
    if node.op_type in ("NonZero", "NonMaxSuppression") and set(unsized) & set(node.output):
        return _left(node, "the size of its output is known only at run time", certain=True)
    why = broken(row.needs, node, facts)
    return _left(node, why, certain=False) if why else None


def _refused(
    node: NodeProto,
    facts: NodeFacts,
    fused: Collection[str],
    archs: Sequence[int],
    floats_as: str,
) -> Left | None:
    """By the atlas: types on generations."""
    operator = operator_of(node)
    row = table().get(operator)
    if row is None or node.name in fused or node.op_type in (QUANTIZE, DEQUANTIZE):
        return None
    form = facts.form(node, row.data)
    form = floats_as if form == "f32" else form
    case = case_of(node)
    if not facts.at_border(node):  # inside, the plugin makes 32 bits of 64
        form = "i32" if form == "i64" else form
        case = case.replace("to int64", "to int32")
    known = refusals()
    found = known.of(case, form, archs or known.archs)
    if found is None or (not archs and set(found.archs) != set(known.archs)):
        return None
    hit = tuple(arch for arch in archs if arch in found.archs) if archs else ()
    return _left(node, found.why + _from_when(case, form), certain=False, archs=hit)


def case_of(node: NodeProto) -> str:
    """What the atlas calls it: a Cast by what it makes, all else by the operator."""
    operator = operator_of(node)
    return (
        f"{operator}:to {dtype_name(attribute(node, 'to', 0))}"
        if node.op_type == "Cast"
        else operator
    )


def _from_when(case: str, form: str) -> str:
    first = refusals().first_that_takes(case, form)
    return f"; taken from HTP v{first} on" if first is not None else ""


def _left(node: NodeProto, why: str, *, certain: bool, archs: tuple[int, ...] = ()) -> Left:
    return Left(node=node.name, operator=operator_of(node), why=why, certain=certain, archs=archs)


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
    run: Run,
    model: ModelProto,
    *,
    cpu_fallback: str,
    floats_as: str = "f32",
    own: Collection[str] = (),
    tensors: Collection[str] | None = None,
) -> list[Left]:
    """Refuse what surely cannot run on the NPU when the CPU may not help; tell the rest.

    Nodes named by `own` are for packages of the user's own; `tensors` are those of the user's file.
    """
    left = [one for one in left_to_cpu(model, floats_as=floats_as) if one.node not in own]
    certain = [one for one in left if one.certain]
    if certain and cpu_fallback == "refuse":
        first = certain[0]
        bad = {one.node for one in certain}
        outputs = cuts.outputs_before(model, bad)
        kind = first.operator.removeprefix("ai.onnx:")
        more = f", and {len(certain) - 1} more nodes do" if len(certain) > 1 else ""
        raise WorkError(
            f"node '{first.node}' ({kind}) runs on the CPU{more}",
            place="cpu_fallback",
            facts=[(one.node, f"{one.operator}: {one.why}") for one in certain[:MOST_TOLD]],
            hint=f"{cuts.hint(outputs, tensors)}; or write cpu_fallback: allow",
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
