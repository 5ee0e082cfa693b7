"""A quantized model's answers held against the float model's, by the recipe's bars.

The CPU is asked first, since the emulator takes many times as long. What holds there has to hold on
the emulator too: where ranges are wide the two are 10 dB apart (docs/search.md has numbers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

from qnnbuild.work.bars import Bar, judge_outputs
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

MARGIN_DB = 1.0
"""What a try must have above the bar, since the samples of the verdict may be others."""

CPU, EMULATOR = "CPU", "HTP emulator"


@dataclass(frozen=True, kw_only=True)
class Judged:
    on: str  # CPU or EMULATOR
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # as in numbers.json
    bars: tuple[Bar, ...] = ()
    why_not: str | None = None  # it did not run at all

    @property
    def holds(self) -> bool:
        return self.why_not is None and all(bar.holds for bar in self.bars)

    @property
    def below(self) -> list[str]:
        """Why it does not hold, in words."""
        if self.why_not is not None:
            return [self.why_not]
        return [f"{bar.of}: {bar.words()}" for bar in self.bars if not bar.holds]

    @property
    def sqnr_db(self) -> float | None:
        """Of the worst output; None where no output is float."""
        told = [one["all"]["sqnr_db"] for one in self.outputs.values() if "sqnr_db" in one["all"]]
        return min(told, default=None)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """The float model's file, and what it is compared with and on; answers go below `folder`."""

    model: Path
    samples: Sequence[Path]
    bars: Mapping[str, Any]
    emulator: Mapping[str, Any] | None  # soc_model, options, cpu_fallback; None: the CPU decides
    folder: Path

    def judge(self, quantized: Path) -> list[Judged]:
        """On the CPU and, if it holds there, on the emulator."""
        kinds = self._kinds()
        samples = self.samples[:MOST_JUDGED]
        theirs = answer(self.model, samples, self.folder / "float")
        ours = answer(quantized, samples, self.folder / "quantized")
        found = [self._judged(CPU, ours, theirs, kinds)]
        if found[0].holds and self.emulator is not None:
            found.append(self._emulated(quantized, self.emulator, kinds))
        return found

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

    def _emulated(
        self, quantized: Path, emulator: Mapping[str, Any], kinds: Mapping[str, Kind]
    ) -> Judged:
        folder = self.folder / "emulated"
        folder.mkdir()
        samples = self.samples[:MOST_EMULATED]
        allowed = emulator["cpu_fallback"]
        done = emulate(
            Emulation(
                model=quantized,
                options={
                    "backend_type": "htp",
                    "soc_model": str(emulator["soc_model"]),
                    **emulator["options"],
                },
                entries={} if allowed else {"session.disable_cpu_ep_fallback": "1"},
                samples=samples,
                outputs=folder,
            )
        )
        if done.why_not is not None:
            return Judged(on=EMULATOR, why_not=" ".join(done.why_not.split())[:200])
        theirs = answer(self.model, samples, self.folder / "float-emulated")
        return self._judged(EMULATOR, folder, theirs, kinds)

    def _judged(self, on: str, ours: Path, theirs: Path, kinds: Mapping[str, Kind]) -> Judged:
        outputs = compare_folders(ours, theirs, kinds)
        wanted = dict(self.bars)
        if wanted.get("min_sqnr_db") is not None:
            wanted["min_sqnr_db"] += MARGIN_DB
        return Judged(on=on, outputs=outputs, bars=tuple(judge_outputs(outputs, wanted)))


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
