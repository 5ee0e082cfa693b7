"""The proof that the prepared model is the original: both run on the CPU, on the same samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto, TensorProto
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from qnnbuild.work import compare
from qnnbuild.work.borders import constant_array
from qnnbuild.work.compare import Difference
from qnnbuild.work.run import Run
from qnnbuild.work.samples import Sample, samples_for
from qnnbuild.work.shapes import first_line
from qnnbuild.work.walk import nodes, tensors

RUNTIME_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(k for k in vars(runtime).values() if isinstance(k, type) and issubclass(k, Exception)),
)
"""Everything that ONNX Runtime raises; its own kinds have no common ancestor below Exception."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What came out; `why_not` says why there are no numbers."""

    samples: str = ""
    differences: Mapping[str, Difference] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    why_not: str | None = None
    original_fails: bool = False  # the CPU cannot run it as it is

    def as_json(self) -> dict[str, Any]:
        if self.why_not is not None:
            return {"why_not": self.why_not}
        outputs = {name: one.as_json() for name, one in self.differences.items()}
        return {"samples": self.samples, "outputs": outputs}


def prove(
    run: Run, model: ModelProto, *, baseline: Path, prepared: Path, unknown: Iterable[str] = ()
) -> Proof:
    """Compare the answers of both; a WorkError when they differ or one cannot run.

    `unknown` are operators that the CPU does not have.
    """
    if own := ", ".join(unknown):
        return _not_compared(run, f"the CPU does not know {own}", {})
    borders = [*model.graph.input, *model.graph.output]
    if any(value.type.tensor_type.elem_type == TensorProto.BFLOAT16 for value in borders):
        return _not_compared(run, "bfloat16 at its borders, which numpy does not know", {})
    folder = run.inputs.get("samples")
    constants: Mapping[str, Any] = run.params["constants"]
    samples = samples_for(model, folder, run.params["inputs"])
    told = f"{len(samples)} {'random' if folder is None else 'given'}"
    names = [value.name for value in model.graph.output]
    original = onnx.load(str(baseline), load_external_data=False)
    theirs_in = [_for_baseline(original, sample, constants) for sample in samples]
    why_not = compare.why_not_comparable(original)
    coarse = is_coarse(original) or is_coarse(model)
    del original
    try:
        ours = compare.answers(prepared, samples, names)
    except runtime.NotImplemented as error:  # types that only the NPU computes with
        return _not_compared(run, f"the CPU cannot compute it: {first_line(error)}", {})
    except RUNTIME_ERRORS as error:
        raise compare.cannot_run(error) from None
    shapes = {name: tuple(ours[0][index].shape) for index, name in enumerate(names)}
    if why_not is None:
        try:
            theirs = compare.answers(baseline, theirs_in, names)
        except RUNTIME_ERRORS as error:
            why_not = f"the original does not run on the CPU: {first_line(error)}"
            return _not_compared(run, why_not, shapes, original_fails=True)
    if why_not is not None:
        return _not_compared(run, why_not, shapes)
    found = compare.judge(run, names, ours, theirs, half=coarse)
    return Proof(samples=told, differences=found, shapes=shapes)


def _not_compared(
    run: Run, why_not: str, shapes: Mapping[str, tuple[int, ...]], *, original_fails: bool = False
) -> Proof:
    run.warn(f"prepared and original cannot be compared: {why_not}")
    return Proof(why_not=why_not, shapes=shapes, original_fails=original_fails)


def _for_baseline(original: ModelProto, sample: Sample, constants: Mapping[str, Any]) -> Sample:
    """The sample in the original's types, with the values of what became constants."""
    fed: Sample = {}
    for value in original.graph.input:
        if value.name in constants:
            fed[value.name] = constant_array(value, constants[value.name])
        elif value.name in sample:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            fed[value.name] = sample[value.name].astype(dtype)
    return fed


def is_coarse(model: ModelProto) -> bool:
    """Whether the model rounds to few bits: equal models may then differ by a step."""
    halves = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    values = [*model.graph.input, *model.graph.output]
    return (
        any(value.type.tensor_type.elem_type in halves for value in values)
        or any(tensor.data_type in halves for tensor in tensors(model))
        or any("uantize" in node.op_type for node in nodes(model))
    )
