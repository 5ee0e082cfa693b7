"""reference: what the original model answers on the CPU, sample by sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, ValueInfoProto, numpy_helper

from qnnbuild.work.arrays import array_files, sample_name
from qnnbuild.work.compare import why_not_comparable
from qnnbuild.work.npz import Array, read_npz, write_npz
from qnnbuild.work.numbers import compare_folders
from qnnbuild.work.proof import RUNTIME_ERRORS
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.shapes import first_line
from qnnbuild.work.versions import known_operators
from qnnbuild.work.walk import inner_graphs, made_by, nodes, operator_of

REFERENCE = "reference.json"
RECORDED = "recorded answers"
"""What a binary is compared with whose original nobody has."""
FAR_DB = 20.0
"""A recorded answer that is further off than this is of another sample or another export."""

Kinds = dict[str, dict[str, Any]]


def reference(run: Run) -> None:
    """Inputs "baseline", "samples" (and "recorded") → output "reference".

    A file a sample with the outputs by name, and reference.json, which says how to compare them.
    """
    told = json.loads((run.inputs["baseline"] / "baseline.json").read_text(encoding="utf-8"))
    if told["is"] is None:
        _without_original(run, told)
        return
    model = onnx.load(str(run.inputs["baseline"] / "model.onnx"), load_external_data=False)
    samples = array_files(run.inputs["samples"])
    why_not = _bfloat16(model) or why_not_comparable(model)
    kinds = {value.name: _kind(value, model) for value in model.graph.output}
    if _is_unknown(model) and "recorded" in run.inputs:
        _without_original(run, {"outputs": kinds})
        return
    if _bfloat16(model) is None:
        _answer(run, model, samples)
    found: dict[str, Any] = {
        "compared_with": told["is"],
        "samples": len(samples),
        "why_not": why_not,
        "outputs": kinds,
    }
    if "recorded" in run.inputs:
        found["recorded"] = _from_recorded(run, kinds)
    _write(run, found)


def _without_original(run: Run, told: Mapping[str, Any]) -> None:
    """Of a binary made elsewhere, or with own operators: recorded answers, or none at all."""
    recorded = "recorded" in run.inputs
    _write(
        run,
        {
            "compared_with": RECORDED if recorded else None,
            "samples": len(array_files(run.inputs["samples"])),
            "why_not": None if recorded else told["why_not"],
            "outputs": told["outputs"],
        },
    )


def _write(run: Run, found: Mapping[str, Any]) -> None:
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["reference"] / REFERENCE).write_text(text + "\n", encoding="utf-8")


def _is_unknown(model: ModelProto) -> bool:
    """Operators of the user's own: the CPU has none of them."""
    return any(operator_of(node) not in known_operators() for node in nodes(model))


def _bfloat16(model: ModelProto) -> str | None:
    values = [*model.graph.input, *model.graph.output]
    if any(value.type.tensor_type.elem_type == TensorProto.BFLOAT16 for value in values):
        return "bfloat16 at its borders, which numpy does not know"
    return None


def _kind(value: ValueInfoProto, model: ModelProto) -> dict[str, Any]:
    """Floats are compared as numbers, whole numbers exactly, quantized ones by what they mean."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if dtype.kind in "fV":
        return {"kind": "float"}
    maker = made_by(model.graph).get(value.name)
    if maker is None or maker.op_type != "QuantizeLinear":
        return {"kind": "exact"}
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    scale = stored.get(maker.input[1])
    zero = stored.get(maker.input[2]) if len(maker.input) > 2 else None
    if scale is None or numpy_helper.to_array(scale).size != 1:
        return {"kind": "exact"}
    return {
        "kind": "quantized",
        "scale": float(numpy_helper.to_array(scale).reshape(())),
        "zero_point": 0 if zero is None else int(numpy_helper.to_array(zero).reshape(())),
    }


def _answer(run: Run, model: ModelProto, samples: Sequence[Path]) -> None:
    dtypes = {
        value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        for value in model.graph.input
    }
    names = [value.name for value in model.graph.output]
    session = _session(
        run.inputs["baseline"] / "model.onnx",
        has_branches=any(any(inner_graphs(node)) for node in nodes(model)),
    )
    for index, file in enumerate(samples):
        arrays = read_npz(file)
        fed = {
            # the recipe may have given a border another type than the original has
            value.name: arrays[value.name].astype(dtypes[value.name], copy=False)
            for value in session.get_inputs()
            if value.name in arrays
        }
        try:
            answers = session.run(names, fed)
        except RUNTIME_ERRORS as error:
            raise _cannot_run(error) from None
        _warn_of_infinite(run, index, dict(zip(names, answers, strict=True)))
        write_npz(
            run.outputs["reference"] / sample_name(index), dict(zip(names, answers, strict=True))
        )


def _session(path: Path, *, has_branches: bool) -> Any:
    """One thread and no fusions that round otherwise: sums are added in one order.

    An If on what the recipe made a constant is inlined by ONNX Runtime, which mixes up the names
    of nested ones or dies of them (onnxruntime 1.32.0): nothing is rewritten where there are any.
    """
    level = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = (
        level.ORT_DISABLE_ALL if has_branches else level.ORT_ENABLE_BASIC
    )
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except RUNTIME_ERRORS as error:
        raise _cannot_run(error) from None


def _cannot_run(error: Exception) -> WorkError:
    return WorkError(
        "ONNX Runtime cannot run the original model on the CPU",
        place="verify",
        facts=[("it says", first_line(error))],
        hint="verify: {chips: none} for a model that only the NPU computes",
    )


def _warn_of_infinite(run: Run, index: int, answers: Mapping[str, Array]) -> None:
    for name, array in answers.items():
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            run.warn(
                f"sample {index}: the original's output '{name}' is not finite; "
                "only what is finite is compared",
                place="verify",
            )


def _from_recorded(run: Run, kinds: Kinds) -> dict[str, Any]:
    """How far the CPU's answers are from those that the original framework gave."""
    if not array_files(run.outputs["reference"]):
        return {}
    told = compare_folders(run.outputs["reference"], run.inputs["recorded"], kinds)
    for name, numbers in told.items():
        found = numbers["all"].get("sqnr_db")
        if found is not None and found < FAR_DB:
            run.warn(
                f"the recorded '{name}' is far from what the ONNX file answers on the CPU "
                f"({found:.1f} dB): other samples, another order, or another export",
                place="verify.reference",
            )
    return {name: numbers["all"] for name, numbers in told.items()}
