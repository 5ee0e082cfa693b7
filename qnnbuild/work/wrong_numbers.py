"""Patterns that are compiled without a word, and that the HTP then computes wrongly.

What stands here was measured: docs/operators.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import ModelProto

from qnnbuild.work.repairs import hard_swish
from qnnbuild.work.run import Run
from qnnbuild.work.versions import opset_of


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """One place in a graph of floats."""

    node: str
    what: str  # the pattern, in words
    mend: str


def wrong_numbers(model: ModelProto) -> Iterator[Wrong]:
    """Of a model whose floats stay floats; quantized, the same pattern is computed well."""
    mend = f"repairs: [{hard_swish.REPAIR.name}]"
    if opset_of(model) < hard_swish.HARDSWISH_SINCE:
        mend = f"an export with opset {hard_swish.HARDSWISH_SINCE} or newer, then {mend}"
    for node, _ in hard_swish.written_out(model):
        yield Wrong(node=node.name, what="HardSigmoid (1/6, 1/2) times its own input", mend=mend)


def warn_of_wrong_numbers(run: Run, model: ModelProto) -> None:
    for one in wrong_numbers(model):
        run.warn(
            f"node '{one.node}': {one.what} compiles, and the HTP computes it wrongly in float: "
            f"{one.mend}",
            place="repairs",
        )
