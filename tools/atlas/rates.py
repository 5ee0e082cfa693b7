"""How often the prediction is right: of all cases of the atlas, and of real models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto

from qnnbuild.work.node_facts import DEQUANTIZE, QUANTIZE
from qnnbuild.work.operators import left_to_cpu
from qnnbuild.work.ort_log import Refused, in_users_names
from qnnbuild.work.plugin_fusions import Expected, expected_fusions
from tools.atlas.assemble import Row, fused_of, on_of
from tools.atlas.compiling import Compiled, Compiler
from tools.atlas.models import Case

QUANTIZERS = (QUANTIZE, DEQUANTIZE)


@dataclass(frozen=True)
class Rate:
    """Counts of what was foretold and what came."""

    hits: int = 0
    false_alarms: int = 0
    missed: int = 0
    right_to_be_silent: int = 0

    def __add__(self, other: Rate) -> Rate:
        return Rate(
            self.hits + other.hits,
            self.false_alarms + other.false_alarms,
            self.missed + other.missed,
            self.right_to_be_silent + other.right_to_be_silent,
        )

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.false_alarms) if self.hits + self.false_alarms else 1.0

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else 1.0

    def as_list(self) -> list[int]:
        return [self.hits, self.false_alarms, self.missed, self.right_to_be_silent]

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.1%}, recall {self.recall:.1%} ({self.hits} hits, "
            f"{self.false_alarms} false alarms, {self.missed} missed, "
            f"{self.right_to_be_silent} rightly silent)"
        )


def one(foretold: bool, came: bool) -> Rate:
    return Rate(
        int(foretold and came),
        int(foretold and not came),
        int(came and not foretold),
        int(not foretold and not came),
    )


def of_documentation(cases: Iterable[Row], archs: Sequence[int]) -> Rate:
    """What the documentation claims, cell by cell; fusions are left out."""
    rows = [row for row in cases if row["claim"] in ("npu", "cpu")]
    return sum(
        (one(row["claim"] == "cpu", falls(row, arch)) for row in rows for arch in archs), Rate()
    )


def falls(row: Row, arch: int) -> bool:
    return on_of(row, arch) in ("cpu", "fails")


def of_atlas(cases: Sequence[Case], rows: Sequence[Row], archs: Sequence[int]) -> Rate:
    """Each case on each generation: does any of its nodes fall to the CPU?"""
    total = Rate()
    for case, row in zip(cases, rows, strict=True):
        model = onnx.shape_inference.infer_shapes(case.model)
        for arch in archs:
            total += one(bool(left_to_cpu(model, [arch])), falls(row, arch))
    return total


def of_atlas_fusions(cases: Sequence[Case], rows: Sequence[Row], arch: int) -> Rate:
    """Does the plugin fuse by the name that is foretold?"""
    total = Rate()
    for case, row in zip(cases, rows, strict=True):
        if "fused" not in row:
            continue
        model = onnx.shape_inference.infer_shapes(case.model)
        foretold = {e.fusion for e in expected_fusions(model) if e.by == "plugin"}
        came = set(fused_of(row, arch))
        total += Rate(
            len(foretold & came),
            len(foretold - came),
            len(came - foretold),
            int(not foretold | came),
        )
    return total


@dataclass(frozen=True, kw_only=True)
class OfModel:
    name: str
    nodes: int
    cpu: Rate  # node by node
    fusions: Rate  # group by group


def of_model(name: str, path: Path, compiler: Compiler, soc_model: int, arch: int) -> OfModel:
    """Node by node against the trace of a compile, quantizers left out."""
    model = onnx.load(str(path), load_external_data=False)
    model = onnx.shape_inference.infer_shapes(model)
    made = compiler.compile(path.read_bytes(), soc_model)
    if made.on == "fails":
        raise ValueError(f"{name} does not compile: {made.error}")
    return compared(name, model, made, arch)


def compared(name: str, model: ModelProto, made: Compiled, arch: int) -> OfModel:
    kinds = {node.name: node.op_type for node in model.graph.node}
    told = [Refused(name=node, operator="") for node in made.left]
    came = {node.name for node in in_users_names(told, kinds)}
    foretold = {node.node for node in left_to_cpu(model, [arch])}
    cpu = Rate()
    for node, kind in kinds.items():
        if kind not in QUANTIZERS:
            cpu += one(node in foretold, node in came)
    return OfModel(
        name=name, nodes=len(kinds), cpu=cpu, fusions=_fusions(expected_fusions(model), made, kinds)
    )


def _fusions(expected: Sequence[Expected], made: Compiled, kinds: Mapping[str, Any]) -> Rate:
    """A fusion came when the plugin names one of its kind with a node of it, or, where ONNX Runtime
    fuses, when the QNN operator is there under a name that no node of the model has.
    """
    groups = [group for group in made.groups if group.kind != "OrtNodeUnit"]
    new = [
        qnn
        for group in made.groups
        if group.kind == "OrtNodeUnit" and not set(group.nodes) & set(kinds)
        for qnn in group.qnn
    ]
    seen: set[int] = set()
    hits = false_alarms = 0
    for one_of in expected:
        if one_of.by == "onnxruntime":
            came = one_of.qnn in new
            if came:
                new.remove(one_of.qnn)
        else:
            number = next(
                (
                    i
                    for i, group in enumerate(groups)
                    if i not in seen
                    and group.kind == one_of.fusion
                    and set(group.nodes) & set(one_of.nodes)
                ),
                None,
            )
            came = number is not None
            if number is not None:
                seen.add(number)
        hits, false_alarms = hits + came, false_alarms + (not came)
    return Rate(hits, false_alarms, len(groups) - len(seen), 0)
