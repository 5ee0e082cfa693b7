"""What `qnnbuild inspect` prints of profiles and traces: times by node, what became of nodes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from qnnbuild.engine.small_file import PAGE, read_small
from qnnbuild.formats.chrome_trace import ChromeTraceFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.op_trace import ALONE, OpTraceFacts, read_op_trace
from qnnbuild.formats.profile_csv import Measured, ProfileFacts
from qnnbuild.report.profile import ProfileRow, names_of, profile_rows

BESIDE = ("op_trace.json", "qnn_op_trace.json")
"""What tells the nodes of QNN operators when it lies beside a profile; ours has better names."""

MANY = 20
"""So many layers are shown; the rest is counted."""

Line = tuple[str, str]
"""A label and what it is of; without a label the line goes on with the one before."""


def rows_of(path: Path, facts: ProfileFacts | ChromeTraceFacts) -> list[ProfileRow]:
    """The layers by the names that an op trace beside the file gives."""
    return profile_rows(facts.layers, _names_beside(path))


def _names_beside(path: Path) -> Mapping[str, Sequence[str]] | None:
    for name in BESIDE:
        beside = path.parent / name
        if beside.is_file():
            try:
                data = read_small(beside, PAGE)
                if name == BESIDE[0]:
                    return names_of(json.loads(data))
                return {one.name: one.nodes for one in read_op_trace(data).mappings}
            except (FormatError, ValueError, LookupError, TypeError):
                continue  # some other file of that name: the profile's own names do
    return None


def profile(facts: ProfileFacts, rows: Sequence[ProfileRow]) -> Iterator[Line]:
    yield "runs", str(max((len(one.values) for one in facts.whole), default=0))
    for one in facts.whole:
        yield "whole", f"{one.name}: {_amount(one)}"
    yield from _layers(rows)


def chrome_trace(facts: ChromeTraceFacts, rows: Sequence[ProfileRow]) -> Iterator[Line]:
    unit = facts.unit.lower()
    yield "whole", f"{facts.span:,} {unit} from the first start to the last end"
    for name, busy in facts.threads:
        yield "thread", f"{name}: {busy:,} {unit}"
    yield from _layers(rows)


def op_trace(facts: OpTraceFacts) -> Iterator[Line]:
    yield "soc_model", ", ".join(str(model) for model in facts.soc_models)
    kinds = Counter(mapping.operator for mapping in facts.mappings)
    yield "operators", ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    for mapping in facts.mappings:
        if mapping.group != ALONE:
            yield "fusion", f"{mapping.group}: {' + '.join(mapping.nodes)} → {mapping.operator}"
    for node in facts.unsupported:
        yield "on the CPU", f"{node.name} ({node.operator}): {node.reason or 'no reason told'}"


def _amount(one: Measured) -> str:
    unit = "" if one.unit == "COUNT" else f" {one.unit.lower()}"
    if len(set(one.values)) == 1:
        return f"{one.values[0]:,}{unit}"
    return f"{one.mean:,.0f}{unit} (from {min(one.values):,} to {max(one.values):,})"


def _layers(rows: Sequence[ProfileRow]) -> Iterator[Line]:
    shown = rows[:MANY]
    if not shown:
        return
    amounts = [f"{row.mean:,.0f} {row.unit.lower()}" for row in shown]
    width, wide = max(map(len, amounts)), max(len(row.operator) for row in shown)
    for row, amount in zip(shown, amounts, strict=True):
        nodes = " + ".join(row.nodes)
        text = f"{row.share:6.1%}  {amount:>{width}}  {row.operator:<{wide}}  {nodes}"
        yield "layer", text.rstrip()
    if len(rows) > MANY:
        rest = sum(row.share for row in rows[MANY:])
        yield "", f"{rest:6.1%}  {len(rows) - MANY} more"
    if not any(row.nodes for row in rows):
        yield "note", "with op_trace.json beside it the nodes of the model are told too"
