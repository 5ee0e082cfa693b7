"""The ONNX file that a binary was compiled from: its borders are the binary's, by name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import ModelProto, ValueInfoProto, helper

from qnnbuild.errors import did_you_mean
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.shapes import written
from qnnbuild.work.walk import shape_of

if TYPE_CHECKING:
    from qnnbuild.work.wrap import Border

PLACE = "compiled.original"
MODEL = "model.onnx"


def keep_original(run: Run, inputs: Sequence[Border], outputs: Sequence[Border]) -> None:
    """Input "original" → output "baseline", with inputs and outputs called as the wrapper's are.

    The SDK's converters write `_` for what no name of C may have; such names are the same.
    """
    folder, baseline = run.inputs["original"], run.outputs["baseline"]
    model = onnx.load(str(folder / MODEL), load_external_data=False)
    stored = {tensor.name for tensor in model.graph.initializer}
    given = [value for value in model.graph.input if value.name not in stored]
    theirs = model.graph.output
    renamed = {**_matched("input", given, inputs), **_matched("output", theirs, outputs)}
    _check_all_fed(given, renamed)
    if len(outputs) < len(theirs) or any(name != ours for name, ours in renamed.items()):
        _rename(model, renamed)
        (folder / MODEL).write_bytes(model.SerializeToString(deterministic=True))
    for path in sorted(folder.iterdir()):
        path.rename(baseline / path.name)
    text = json.dumps({"is": "the original"}, indent=1)
    (baseline / "baseline.json").write_text(text + "\n", encoding="utf-8")


def _matched(way: str, theirs: Sequence[ValueInfoProto], ours: Sequence[Border]) -> dict[str, str]:
    """The original's name → the wrapper's, of everything that the binary has."""
    plain = {_plain(value.name): value for value in theirs}
    exact = {value.name: value for value in theirs}
    found: dict[str, str] = {}
    for border in ours:
        name = border.tensor.name
        value = exact.get(name) or plain.get(_plain(name))
        if value is None:
            raise WorkError(
                f"the original has no {way} '{name}', which the binary has",
                place=PLACE,
                facts=[(f"its {way}s", ", ".join(exact))],
                hint=did_you_mean(name, exact),
                exit_code=2,
            )
        _check_alike(way, value, border)
        found[value.name] = border.name
    return found


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _check_alike(way: str, value: ValueInfoProto, border: Border) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = shape_of(value)
    ours = border.as_facts()
    same = shape is None or (
        len(shape) == len(ours.shape)
        and all(a == b for a, b in zip(shape, ours.shape, strict=True) if isinstance(a, int))
    )
    alike = (dtype.kind == "f") == (np.dtype(ours.dtype).kind == "f")
    if same and alike:
        return
    quantized = border.tensor.scale is not None and not border.is_float
    raise WorkError(
        f"{way} '{value.name}' of the original is another than the binary's",
        place=PLACE,
        facts=[
            ("original", f"{dtype} {written(shape or ())}"),
            ("binary", f"{ours.dtype} {written(ours.shape)}"),
        ],
        hint="compiled: {float_io: true} makes it float32"
        if quantized and same
        else "verify: {inputs: …, reference: …} holds it against recorded answers",
        exit_code=2,
    )


def _check_all_fed(given: Sequence[ValueInfoProto], renamed: Mapping[str, str]) -> None:
    for value in given:
        if value.name not in renamed:
            raise WorkError(
                f"the original takes '{value.name}', which the binary does not",
                place=PLACE,
                hint="it was made a constant before it was compiled: name the ONNX file of then",
                exit_code=2,
            )


def _rename(model: ModelProto, renamed: Mapping[str, str]) -> None:
    """New names at the borders, tied to the old ones, which inner graphs may know too."""
    graph = model.graph
    kept = [value for value in graph.output if value.name in renamed]
    del graph.output[:]
    graph.output.extend(kept)
    before, after = [], []
    for value in graph.input:
        name = renamed.get(value.name, value.name)
        if name != value.name:
            before.append(_identity(name, value.name))
            value.name = name
    for value in graph.output:
        name = renamed[value.name]
        if name != value.name:
            after.append(_identity(value.name, name))
            value.name = name
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)


def _identity(taken: str, given: str) -> onnx.NodeProto:
    return helper.make_node("Identity", [taken], [given], name=f"{taken} as {given}")
