"""A quantized model's answers on the CPU held against the float model's, by the recipe's bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

from qnnbuild.work.bars import Bar, judge_outputs
from qnnbuild.work.compare import why_not_comparable
from qnnbuild.work.npz import read_npz, write_npz
from qnnbuild.work.numbers import compare_folders
from qnnbuild.work.proof import RUNTIME_ERRORS
from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import first_line

MOST_JUDGED = 8
"""Samples that a try is judged on; the first ones."""

MARGIN_DB = 1.0
"""What a try must have above the bar, since the emulator rounds in its own way."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    outputs: Mapping[str, Mapping[str, Any]]  # as numbers.json has them
    bars: tuple[Bar, ...]

    @property
    def holds(self) -> bool:
        return all(bar.holds for bar in self.bars)

    @property
    def sqnr_db(self) -> float | None:
        """Of the worst output; None where no output is float."""
        told = [one["all"]["sqnr_db"] for one in self.outputs.values() if "sqnr_db" in one["all"]]
        return min(told, default=None)


def judged(
    before: Path, after: Path, samples: Sequence[Path], bars: Mapping[str, Any], folder: Path
) -> Judged:
    """Both model files on the same samples; answers are left below `folder`."""
    model = onnx.load(str(before), load_external_data=False)
    why_not = why_not_comparable(model)
    if why_not is not None:
        raise WorkError(
            f"a precision cannot be searched for: {why_not}",
            place="precision",
            hint="precision: w8a16, or another one that you choose",
            exit_code=2,
        )
    kinds = {value.name: {"kind": _kind(value)} for value in model.graph.output}
    taken = samples[:MOST_JUDGED]
    theirs = answer(before, taken, folder / "float")
    ours = answer(after, taken, folder / "quantized")
    outputs = compare_folders(ours, theirs, kinds)
    wanted = dict(bars)
    if wanted.get("min_sqnr_db") is not None:
        wanted["min_sqnr_db"] += MARGIN_DB
    return Judged(outputs=outputs, bars=tuple(judge_outputs(outputs, wanted)))


def _kind(value: onnx.ValueInfoProto) -> str:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    return "float" if dtype.kind in "fV" else "exact"


def answer(model: Path, samples: Sequence[Path], folder: Path) -> Path:
    """What the model answers on the CPU, a file a sample."""
    folder.mkdir(parents=True, exist_ok=True)
    session = cpu_session(model)
    names = [value.name for value in session.get_outputs()]
    for file in samples:
        arrays = read_npz(file)
        fed = {value.name: arrays[value.name] for value in session.get_inputs()}
        try:
            answers = session.run(names, fed)
        except RUNTIME_ERRORS as error:
            raise _cannot_run(error) from None
        write_npz(folder / file.name, dict(zip(names, answers, strict=True)))
    return folder


def cpu_session(model: Path) -> Any:
    """One thread and no fusions that round otherwise: sums are added in one order."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except RUNTIME_ERRORS as error:
        raise _cannot_run(error) from None


def _cannot_run(error: Exception) -> WorkError:
    return WorkError(
        "ONNX Runtime cannot run a try of the search on the CPU",
        place="precision",
        facts=[("it says", first_line(error))],
        hint="precision: w8a16, or another one that you choose",
    )
