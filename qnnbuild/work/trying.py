"""A try's answers against the float model's, on the CPU and the emulator; nothing judges here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

from qnnbuild.work.compare import why_not_comparable
from qnnbuild.work.emulator import Emulation, emulate
from qnnbuild.work.npz import read_npz, write_npz
from qnnbuild.work.numbers import Kind, compare_folders
from qnnbuild.work.proof import RUNTIME_ERRORS
from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import first_line

MOST_JUDGED = 8
"""Samples that a try is judged on; the first ones."""

MOST_EMULATED = 4


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The float model's file, and what it is compared with and on; answers go below `folder`."""

    model: Path
    samples: Sequence[Path]
    folder: Path

    def on_cpu(self, quantized: Path) -> dict[str, Any]:
        """Output → its kind and its numbers over all samples."""
        kinds = self._kinds()
        samples = self.samples[:MOST_JUDGED]
        ours = answer(quantized, samples, self.folder / "quantized")
        return self._compared(ours, answer(self.model, samples, self.folder / "float"), kinds)

    def on_emulator(
        self, quantized: Path, emulator: Mapping[str, Any]
    ) -> tuple[dict[str, Any], str | None]:
        """The same, on fewer samples; and why there is nothing, where it did not run.

        `emulator`: soc_model, options, cpu_fallback.
        """
        folder = self.folder / "emulated"
        folder.mkdir(parents=True)
        samples = self.samples[:MOST_EMULATED]
        done = emulate(
            Emulation(
                model=quantized,
                options={
                    "backend_type": "htp",
                    "soc_model": str(emulator["soc_model"]),
                    **emulator["options"],
                },
                entries={}
                if emulator["cpu_fallback"]
                else {"session.disable_cpu_ep_fallback": "1"},
                samples=samples,
                outputs=folder,
            )
        )
        if done.why_not is not None:
            return {}, " ".join(done.why_not.split())[:200]
        theirs = answer(self.model, samples, self.folder / "float-emulated")
        return self._compared(folder, theirs, self._kinds()), None

    def _kinds(self) -> dict[str, Kind]:
        model = onnx.load(str(self.model), load_external_data=False)
        why_not = why_not_comparable(model)
        if why_not is not None:
            raise WorkError(
                f"a precision cannot be searched for: {why_not}",
                place="precision",
                hint="precision: w8a16, or another one that you choose",
                exit_code=2,
            )
        return {value.name: {"kind": _kind(value)} for value in model.graph.output}

    def _compared(self, ours: Path, theirs: Path, kinds: Mapping[str, Kind]) -> dict[str, Any]:
        found = compare_folders(ours, theirs, kinds)
        return {name: {"kind": one["kind"], "all": one["all"]} for name, one in found.items()}


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
