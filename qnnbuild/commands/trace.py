"""qnnbuild trace NAME: each node of a graph and the QNN operators that the compiler made of it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from qnnbuild.actions.action import Action
from qnnbuild.actions.plan import Plan
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.commands.names import one_name
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.state import Current
from qnnbuild.errors import NothingMatches
from qnnbuild.session import open_builder, open_session
from qnnbuild.steps.dump import trace

HEAD = ("node", "operator", "QNN operators", "fusion")
SHOWN = 8
"""So many nodes that are gone are named; the rest is counted."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", help="an action of one graph and chip: context/silero-vad/vad@SM8750"
    )
    parser.add_argument("--json", action="store_true", help="all of it as data")


def run(args: Namespace) -> int:
    session = open_session()
    action = trace(session.plan, one_name(session.plan, args.name))
    plan = session.plan
    if action.name not in plan:
        plan = Plan.of([*plan, action])
    with open_builder(replace(session, plan=plan)) as builder:
        found = _traced(builder, action)
    if args.json:
        print_json({"name": action.name, **found})
    else:
        _print(found)
    return 0


def _traced(builder: Builder, action: Action) -> dict[str, Any]:
    """Out of the store; made first where it is not there."""
    waits = [n for n in action.needs() if not isinstance(builder.state(n), Current)]
    if waits:
        raise NothingMatches(f"{', '.join(waits)} is not built yet", hint=f"doit {' '.join(waits)}")
    if not isinstance(builder.state(action.name), Current):
        print(f"{action.name}: compiling with an op trace", file=sys.stderr)
        builder.make(action.name)
    found: dict[str, Any] = json.loads(builder.read(action.name, "dump", "op_trace.json"))
    return found


def _print(found: Mapping[str, Any]) -> None:
    print_rows(map(_row, found["nodes"]), HEAD)
    for lines in (_fused(found["fusions"]), _left(found), _sums(found["summary"])):
        told = list(lines)
        if told:
            print()
            print("\n".join(told))


def _row(node: Mapping[str, Any]) -> tuple[str, ...]:
    return (node["node"], node["operator"], _operators(node["qnn"]), node["fusion"] or "")


def _operators(made: Sequence[Mapping[str, str]]) -> str:
    """Reshape ×2, Conv2d: their types. Their names are in the data."""
    counts = Counter(one["operator"] for one in made)
    return ", ".join(f"{kind} ×{n}" if n > 1 else kind for kind, n in counts.items())


def _fused(fusions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in fusions:
        yield f"{one['fusion']}: {' + '.join(one['nodes'])} → {_operators(one['qnn'])}"


def _left(found: Mapping[str, Any]) -> Iterator[str]:
    """What of the model no QNN operator computes, and QNN operators of no node."""
    for one in found["on_cpu"]:
        yield f"on the CPU: {one['node']} ({one['operator']}): {one['reason'] or 'no reason told'}"
    if found["gone"]:
        names = [f"{one['node']} ({one['operator']})" for one in found["gone"]]
        more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
        yield f"folded or merged before the plugin saw them: {', '.join([*names[:SHOWN], *more])}"
    if found["added"]:
        yield f"added by the runtime: {_operators(found['added'])}"


def _sums(summary: Mapping[str, Any]) -> Iterator[str]:
    counts = (
        ("node", summary["nodes"]),
        ("QNN operator", summary["qnn_operators"]),
        ("fusion", summary["fusions"]),
    )
    told = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts)
    yield f"{told}; {summary['on_cpu']} on the CPU"
