"""debug: the layers of a graph in order, each on the emulator against the CPU.

The graph is compiled once more with its inner tensors as outputs. That changes what the compiler
may fuse, so the numbers of a layer are those of this compile. Values beyond a type's range show
all the same; coarse approximations of fused activations may not (seen: 44 dB in the binary that
ships, 65 dB with all inner tensors told). Hence `alone`: each layer in a compile of its own that
ends with it, so that all before it is fused as ever, at the cost of as many runs as layers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto

from qnnbuild.work.arrays import array_files
from qnnbuild.work.emulator import Emulation, emulate
from qnnbuild.work.measures import Sums, compare_arrays, digits
from qnnbuild.work.model_bytes import write
from qnnbuild.work.npz import read_npz
from qnnbuild.work.onnx_files import read_whole
from qnnbuild.work.proof import RUNTIME_ERRORS
from qnnbuild.work.ranges import FP16_MAX
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.shapes import first_line
from qnnbuild.work.walk import shape_of
from qnnbuild.work.watched import Watched, ending_in, watched, with_outputs, worst_before

CHUNK_BYTES = 512 << 20
"""Inner tensors that are looked at in one run."""

FP16_NORMAL = 2.0**-14
"""Below, a number of fp16 loses a digit with each halving, until 6e-8."""


def debug(run: Run) -> None:
    """Inputs "model" (as compiled), "prepared", "names", "samples" → output "layers".

    `params`: the chip and options of the compile, {sample: its number, bar_db, quantized, alone}.
    """
    model = _inferred(read_whole(run.inputs["model"]))
    plain = _inferred(read_whole(run.inputs["prepared"]))
    samples = array_files(run.inputs["samples"])
    number = run.params["sample"]
    if not 0 <= number < len(samples):
        raise WorkError(
            f"there is no sample {number}",
            place="verify",
            facts=[("samples", f"0 to {len(samples) - 1}")],
            exit_code=3,
        )
    looked = watched(model, _tensors(plain))
    if not looked:
        raise WorkError("the graph has no inner tensor that can be looked at", place="graph")
    looking = _Looking(run=run, model=model, plain=plain, sample=samples[number])
    sums = looking.at(looked)
    found = _told(run, model, looked, sums)
    found["not_seen"] = looking.not_seen
    found["sample"] = samples[number].stem
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["layers"] / "layers.json").write_text(text + "\n", encoding="utf-8")


def _inferred(model: ModelProto) -> ModelProto:
    return onnx.shape_inference.infer_shapes(model)


def _tensors(model: ModelProto) -> set[str]:
    return {name for node in model.graph.node for name in node.output if name}


@dataclass(kw_only=True)
class _Looking:
    run: Run
    model: ModelProto
    plain: ModelProto
    sample: Path

    def __post_init__(self) -> None:
        self.not_seen: list[dict[str, str]] = []

    def at(self, looked: Sequence[Watched]) -> dict[str, Sums]:
        """The watched tensor's name in the compiled graph → its numbers."""
        found: dict[str, Sums] = {}
        for chunk in self._chunks(looked):
            found |= self._look(chunk)
        return found

    def _chunks(self, looked: Sequence[Watched]) -> Iterator[list[Watched]]:
        sizes = {value.name: _bytes(shape_of(value)) for value in self.model.graph.value_info}
        chunk: list[Watched] = []
        held = 0
        most = 0 if self.run.params["alone"] else CHUNK_BYTES
        for one in looked:
            size = sizes.get(one.tensor, 0)
            if chunk and held + size > most:
                yield chunk
                chunk, held = [], 0
            chunk.append(one)
            held += size
        yield chunk

    def _look(self, chunk: Sequence[Watched]) -> dict[str, Sums]:
        """What cannot be compiled or run together is tried in halves."""
        sys.stdout.write(f"looking at {len(chunk)} tensors\n")
        answers, why_not = self._emulate([one.tensor for one in chunk])
        if why_not is not None:
            if len(chunk) == 1:
                self.not_seen.append({"tensor": chunk[0].tensor, "why": why_not})
                return {}
            half = len(chunk) // 2
            return self._look(chunk[:half]) | self._look(chunk[half:])
        expected = self._on_the_cpu([one.meant for one in chunk])
        return {
            one.tensor: compare_arrays(answers[one.tensor], expected[one.meant])
            for one in chunk
            if answers[one.tensor].shape == expected[one.meant].shape
        }

    def _emulate(self, tensors: Sequence[str]) -> tuple[dict[str, Any], str | None]:
        folder = self.run.inputs["model"]
        alone = self.run.params["alone"]
        made = ending_in(self.model, tensors) if alone else with_outputs(self.model, tensors)
        write(made, folder / "watched.onnx")
        answers = Path("answers")
        answers.mkdir(exist_ok=True)
        done = emulate(
            Emulation(
                model=folder / "watched.onnx",
                options={
                    "backend_type": "htp",
                    "soc_model": str(self.run.params["soc_model"]),
                    **self.run.params["options"],
                },
                entries={}
                if self.run.params["cpu_fallback"]
                else {"session.disable_cpu_ep_fallback": "1"},
                samples=[self.sample],
                outputs=answers,
                only=tensors,
            )
        )
        if done.why_not is not None:
            return {}, " ".join(done.why_not.split())[:200]
        return read_npz(answers / self.sample.name), None

    def _on_the_cpu(self, tensors: Sequence[str]) -> dict[str, Any]:
        folder = self.run.inputs["prepared"]
        write(with_outputs(self.plain, tensors), folder / "watched.onnx")
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 4
        fed = read_npz(self.sample)
        try:
            session = ort.InferenceSession(
                str(folder / "watched.onnx"), options, providers=["CPUExecutionProvider"]
            )
            wanted = {value.name: fed[value.name] for value in session.get_inputs()}
            return dict(zip(tensors, session.run(list(tensors), wanted), strict=True))
        except RUNTIME_ERRORS as error:
            raise WorkError(
                "ONNX Runtime cannot run the prepared model on the CPU",
                facts=[("it says", first_line(error))],
            ) from None


def _bytes(shape: Sequence[int | str] | None) -> int:
    sizes = [size if isinstance(size, int) else 1 for size in shape or ()]
    return int(np.prod(sizes, dtype=np.int64)) * 4


def _told(
    run: Run, model: ModelProto, looked: Sequence[Watched], sums: Mapping[str, Sums]
) -> dict[str, Any]:
    renamed: dict[str, str] = json.loads(
        (run.inputs["names"] / "names.json").read_text(encoding="utf-8")
    )
    before = worst_before(model, {name: one.sqnr_db for name, one in sums.items()})
    outputs = [value.name for value in model.graph.output]
    layers = [
        {
            "node": renamed.get(one.node, one.node) or one.node,
            "operator": one.operator,
            "tensor": one.meant,
            "is_output": one.tensor in outputs,
            "sqnr_db": digits(sums[one.tensor].sqnr_db),
            "lost_db": _lost(before[one.tensor], sums[one.tensor].sqnr_db),
            "max_abs": digits(sums[one.tensor].max_abs),
            "peak": digits(sums[one.tensor].peak),
            "not_finite": sums[one.tensor].lost,
            "remark": _remark(sums[one.tensor], is_float=not run.params["quantized"]),
        }
        for one in looked
        if one.tensor in sums
    ]
    bar = run.params["bar_db"]
    bad = next((i for i, layer in enumerate(layers) if layer["sqnr_db"] < bar), None)
    return {"bar_db": bar, "first_bad": bad, "layers": layers}


def _remark(sums: Sums, *, is_float: bool) -> str | None:
    """What of the numbers fp16 cannot hold: float graphs are computed in it."""
    if is_float and sums.peak > FP16_MAX:
        return f"{sums.peak:.6g} is beyond the fp16 range of ±{FP16_MAX:g}"
    if is_float and 0 < sums.peak < FP16_NORMAL:
        return f"all of it is below {FP16_NORMAL:.2g}, where fp16 has few digits or none"
    return None


def _lost(before: float, now: float) -> float | None:
    """How much worse a layer is than the worst of what it is computed from."""
    return digits(before - now) if np.isfinite(before) else None
