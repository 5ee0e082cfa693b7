"""Where a graph can be cut, so that what the NPU does not have is left to the app."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable

from onnx import ModelProto

from qnnbuild.work.walk import reads_of

MOST = 8
PLAIN = re.compile(r"[A-Za-z_/][\w./-]*")


def outputs_before(model: ModelProto, bad: Collection[str]) -> list[str]:
    """The tensors to keep: what the nodes named `bad` and all behind them read, and other outputs.

    Empty where nothing is left before a bad node, since it reads inputs alone.
    """
    made: set[str] = set()
    spoiled: set[str] = set()
    read: dict[str, None] = {}
    for node in model.graph.node:
        reads = reads_of(node)
        if node.name in bad or spoiled & reads:
            spoiled |= set(node.output)
            inner = sorted(reads - {*node.input})  # what an If's branches take from outside
            read |= dict.fromkeys(name for name in (*node.input, *inner) if name in made)
        else:
            made |= set(node.output)
    kept = [value.name for value in model.graph.output if value.name in made]
    return list(dict.fromkeys([*kept, *read])) if read else []


def hint(names: Collection[str], known: Collection[str] | None = None) -> str:
    """What to write: the very line, where all `names` are in the user's file, as `known` has it."""
    if not names or len(names) > MOST or (known is not None and not set(names) <= set(known)):
        return "cut the graph before it with outputs:, which take any tensor's name"
    return f"{line(names)} cuts the graph before it"


def line(names: Iterable[str]) -> str:
    """Of a recipe: these outputs."""
    listed = ", ".join(name if PLAIN.fullmatch(name) else json.dumps(name) for name in names)
    return f"outputs: [{listed}]"
