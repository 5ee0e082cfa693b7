"""prepare: the user's ONNX file as the NPU's compiler takes it, proven to be the same model."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnx import ModelProto, TensorProto

from qnnbuild.work import borders, names, shapes, versions
from qnnbuild.work.branches import take_branches
from qnnbuild.work.casts import cast_graph
from qnnbuild.work.fold import ASIDE_FROM, put_back, simplify, weights_aside
from qnnbuild.work.model_bytes import INLINE_LIMIT, load_side_files, save, stored_bytes, write
from qnnbuild.work.multiply_adds import multiply_adds
from qnnbuild.work.onnx_files import read_whole, side_files
from qnnbuild.work.onnx_parts import check_parts
from qnnbuild.work.operators import Left, check_operators, count_operators, notes_of
from qnnbuild.work.own_operators import OwnOperators
from qnnbuild.work.proof import Proof, prove
from qnnbuild.work.ranges import check_ranges
from qnnbuild.work.repairs.all import repair
from qnnbuild.work.run import Run
from qnnbuild.work.walk import all_names, dtype_of, label, shape_of
from qnnbuild.work.wrong_numbers import warn_of_wrong_numbers

MODEL = "model.onnx"
BASELINE = "baseline.onnx"
"""The original as ONNX Runtime can load it, written beside its side files, inputs as they were."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the recipe asks for; see steps/prepare.py, which writes it."""

    inputs: Mapping[str, Mapping[str, Any]]
    outputs: Sequence[Mapping[str, Any]]  # a list: their order is the order that is wanted
    constants: Mapping[str, Any]
    cast: Mapping[str, str]
    repairs: Sequence[str]
    simplify: bool
    max_fold_bytes: int
    fp16: bool
    cpu_fallback: str
    judged: Sequence[str] = ()  # outputs that have bars of their own


@dataclass(kw_only=True)
class Story:
    """What was done to the model, for the report."""

    source_bytes: int = 0
    renamed: dict[str, str] = field(default_factory=dict)  # our node name → the user's
    was_sorted: bool = True
    tensors: set[str] = field(default_factory=set)  # of the user's file, with its functions inlined
    functions: list[str] = field(default_factory=list)
    cast_places: int = 0
    repairs: dict[str, list[str]] = field(default_factory=dict)
    branches: list[str] = field(default_factory=list)  # Ifs that were decided
    borders: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)
    own: OwnOperators = field(default_factory=lambda: OwnOperators({}))


def prepare(run: Run) -> None:
    """Input "model" (and "samples") → outputs "model", "baseline", "names" and "report".

    The names are apart from the report: who compiles tells nodes in the user's words, and must
    not run again because a number of the report changed. The baseline is the original with fixed
    shapes, constants and outputs and nothing else done to it: what ships is compared with it.
    """
    wishes = Wishes(**run.params)
    source = run.inputs["model"]
    story = Story(own=OwnOperators.of(run))
    model = _as_runtime_loads_it(run, wishes, source, story)
    sides = side_files(model)
    original = baseline = run.outputs["baseline"] / MODEL
    if sides or wishes.constants:  # else fixed shapes are all that the two would differ by
        original = source / BASELINE
        write(model, original)
    model = _fixed(wishes, model)
    borders.complete_types(model, story.own.infer)
    write(model, baseline)
    model = _rewritten(run, wishes, model, source, story)
    _check_what_runs(run, wishes, model, story)
    target = run.outputs["model"]
    save(model, target, source)
    proof = prove(
        run,
        model,
        baseline=original,
        prepared=target / MODEL,
        unknown=story.own.known,
    )
    if _take_shapes(run, model, proof):
        write(model, target / MODEL)
    _keep_baseline(run, proof, sides)
    _write_json(run.outputs["names"] / "names.json", dict(story.renamed))
    _write_json(run.outputs["report"] / "report.json", _report(wishes, model, story, proof))


def _keep_baseline(run: Run, proof: Proof, sides: Sequence[str]) -> None:
    """Move the side files beside the baseline; what cannot run is replaced by the prepared model.

    `baseline.json` says which of the two it is.
    """
    baseline, told = run.outputs["baseline"], "the original"
    if proof.original_fails:
        told = "the prepared model"
        for path in run.outputs["model"].iterdir():
            shutil.copyfile(path, baseline / path.name)
    else:
        for side in sides:
            (baseline / side).parent.mkdir(parents=True, exist_ok=True)
            (run.inputs["model"] / side).rename(baseline / side)
    _write_json(baseline / "baseline.json", {"is": told})


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def _as_runtime_loads_it(run: Run, wishes: Wishes, source: Path, story: Story) -> ModelProto:
    """The original, changed only where it would not load, with the outputs wanted."""
    check_parts(source / MODEL)
    model = read_whole(source)
    story.source_bytes = stored_bytes(model)
    versions.check_versions(model)
    versions.raise_ir(model)
    borders.drop_stored_inputs(model)
    model, story.functions = versions.inline_functions(model)
    versions.complete_imports(model)
    names.check_single_makers(model)
    story.was_sorted = not names.sort_nodes(model)
    story.tensors = all_names(model)
    story.renamed |= names.name_nodes(model)
    borders.cut_outputs(model, [output["name"] for output in wishes.outputs])
    versions.check_known(model, story.own)
    borders.check_judged(model, wishes.judged)
    names.check_borders(model)
    names.tell_case_twins(run, model)
    shapes.check_input_names(model, list(wishes.inputs), key="inputs")
    shapes.check_input_names(model, list(wishes.constants), key="constants")
    return model


def _fixed(wishes: Wishes, model: ModelProto) -> ModelProto:
    """With constants in place of inputs, and all shapes known."""
    shapes.fix_shapes(model, wishes.inputs)
    borders.freeze(model, wishes.constants)
    shapes.check_fixed(model)
    return model


def _rewritten(
    run: Run, wishes: Wishes, model: ModelProto, source: Path, story: Story
) -> ModelProto:
    is_big = stored_bytes(model) > INLINE_LIMIT and not wishes.cast
    load_side_files(model, source, below=ASIDE_FROM if is_big else None)
    before = stored_bytes(model)
    if wishes.cast:
        story.cast_places = cast_graph(model, wishes.cast)
    with weights_aside(model) as aside:
        model, story.branches = take_branches(story.own.infer(model))
        if wishes.simplify:
            model = story.own.infer(
                simplify(run, model, before=before, max_fold_bytes=wishes.max_fold_bytes)
            )
        story.renamed |= names.name_nodes(model)
        story.repairs = repair(run, model, wishes.repairs)
        wanted = {o["name"]: o["dtype"] for o in wishes.outputs if o.get("dtype")}
        story.borders = borders.type_borders(model, wishes.inputs, wanted)
        model = story.own.infer(model)
        put_back(model, aside)
    names.name_nodes(model)
    names.drop_remarks(model)
    return model


def _check_what_runs(run: Run, wishes: Wishes, model: ModelProto, story: Story) -> None:
    names.check_borders(model)
    versions.check_known(model, story.own)
    story.own.check(run, model)
    borders.check_no_doubles(model)
    cpu_helps = wishes.cpu_fallback == "allow"
    check_ranges(run, model, run.inputs["model"], fp16=wishes.fp16, cpu_helps=cpu_helps)
    # whatever is no fp16 may be quantized later: then other operators are taken
    floats_as = "f32" if wishes.fp16 else ""
    own = {node.name for node in model.graph.node if node in story.own}
    story.left = check_operators(
        run,
        model,
        cpu_fallback=wishes.cpu_fallback,
        floats_as=floats_as,
        own=own,
        tensors=story.tensors,
    )
    if wishes.fp16:
        warn_of_wrong_numbers(run, model)


def _take_shapes(run: Run, model: ModelProto, proof: Proof) -> bool:
    """Give outputs the shapes that they had when run, where the file says otherwise."""
    taken = False
    for value in model.graph.output:
        ran = proof.shapes.get(value.name)
        if ran is not None and shape_of(value) != ran:
            shapes.set_shape(value, ran)
            taken = True
            if (node := shapes.sized_by(model, value.name)) is not None:
                run.warn(
                    f"how long output '{value.name}' is depends on the numbers, by {label(node)}: "
                    f"{list(ran)} is what a sample gave, and an app has to ask each answer",
                    place="outputs",
                )
    return taken


def _report(wishes: Wishes, model: ModelProto, story: Story, proof: Proof) -> dict[str, Any]:
    inputs = [
        {"name": v.name, "dtype": dtype_of(v), "shape": list(shape_of(v) or ())}
        | {
            key: wishes.inputs[v.name][key]
            for key in ("layout", "range")
            if key in wishes.inputs.get(v.name, {})
        }
        for v in model.graph.input
    ]
    outputs = [
        {"name": v.name, "dtype": dtype_of(v), "shape": list(shape_of(v) or ())}
        for v in model.graph.output
    ]
    return {
        "inputs": inputs,
        "outputs": outputs,
        "ir": model.ir_version,
        "opset": versions.opset_of(model),
        "bytes": {"source": story.source_bytes, "prepared": stored_bytes(model)},
        "parameters": parameters(model),
        "multiply_adds": sum(multiply_adds(model).values()),
        "operators": count_operators(model),
        "operator_notes": notes_of(model),
        "on_cpu": [
            {"node": one.node, "operator": one.operator, "why": one.why} for one in story.left
        ],
        "sorted": story.was_sorted,
        "functions_inlined": story.functions,
        "branches_taken": story.branches,
        "constants": dict(wishes.constants),
        "cast": {"types": dict(wishes.cast), "places": story.cast_places},
        "borders": story.borders,
        "repairs": story.repairs,
        "simplified": wishes.simplify,
        "comparison": proof.as_json(),
    }


def parameters(model: ModelProto) -> int:
    """How many numbers the model has learned; shapes and indices are left out."""
    whole = (TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING)
    return sum(
        math.prod(tensor.dims)
        for tensor in model.graph.initializer
        if tensor.data_type not in whole
    )
