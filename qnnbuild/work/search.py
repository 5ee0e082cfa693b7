"""search: one try of `precision: auto`. It quantizes and judges, unless an earlier try was good."""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qnnbuild.work.feeds import feed_files
from qnnbuild.work.judging import Judge, Judged
from qnnbuild.work.onnx_files import read, read_whole
from qnnbuild.work.qdq import nodes_by_width
from qnnbuild.work.quantize_ort import quantize
from qnnbuild.work.quantized_report import report
from qnnbuild.work.run import Run

FLOAT = "float"
KEPT = ("model", "quantization", "verdict")


def attempt(run: Run) -> None:
    """Inputs "model", "names", "feeds", and "before-…" of the try before → the outputs `KEPT`.

    `params`: {word, lifts: layers to lift or 0, bars, quantization: None for the float model,
    emulator: soc_model, options and cpu_fallback of what judges, or None}.
    The same outputs as the try before where that holds the bar, or nothing is left to lift.
    """
    before = _read(run, "before-verdict", "verdict.json")
    if before is not None and before["holds"]:
        keep(run)
        return
    lifted = _lifted(run)
    if lifted is None:
        keep(run)
        return
    tried = [] if before is None else before["tried"]
    if run.params["quantization"] is None:
        _leave_float(run, tried)
        return
    _quantize(run, tried, lifted)


def keep(run: Run) -> None:
    for name in KEPT:
        for path in sorted(run.inputs[f"before-{name}"].iterdir()):
            path.rename(run.outputs[name] / path.name)


def _lifted(run: Run) -> list[Mapping[str, Any]] | None:
    """The layers to lift, worst first; None when the try before has lifted all there are."""
    wanted = run.params["lifts"]
    if not wanted:
        return []
    layers: list[Mapping[str, Any]] = _read(run, "sensitivity", "sensitivity.json")["layers"]
    return None if len(layers) <= wanted // 2 else layers[:wanted]


def _quantize(run: Run, tried: Sequence[Any], lifted: Sequence[Mapping[str, Any]]) -> None:
    nodes = list(dict.fromkeys(node for layer in lifted for node in layer["lift"]))
    asked = dict(run.params["quantization"])
    asked["sixteen_bit_nodes"] = [*asked["sixteen_bit_nodes"], *map(glob.escape, nodes)]
    one = Run(
        params=asked,
        inputs={name: run.inputs[name] for name in ("model", "feeds", "names")},
        outputs={name: run.outputs[name] for name in ("model", "quantization")},
    )
    quantize(one)
    judge = Judge(
        model=run.inputs["model"] / "model.onnx",
        samples=feed_files(run.inputs["feeds"]),
        bars=run.params["bars"],
        emulator=run.params["emulator"],
        folder=Path("answers"),
    )
    found = judge.judge(run.outputs["model"] / "model.onnx")
    if found[-1].holds:
        # of tries that are thrown away nobody needs to know their tensors
        run.warnings.extend(one.warnings)
    said = _read_file(run.outputs["quantization"] / "quantization.json")
    told = _told(run, found, said["nodes"], lifted)
    names = _read(run, "names", "names.json")
    wide = nodes_by_width(read(run.outputs["model"] / "model.onnx")).get("16", [])
    said["sixteen_bit_nodes"] = [names.get(name) or name for name in wide]
    _tell(run, tried, told, said)


def _leave_float(run: Run, tried: Sequence[Any]) -> None:
    """Nothing whole holds the bar: whether floats do, the verdict on the binary says."""
    run.warn("no quantized form that was tried holds the bar: the graph stays float",
             place="precision")  # fmt: skip
    model = read_whole(run.inputs["model"])
    said = report(model, {}, cut={}, compared="the model is as it was", blocks=0)
    said["sixteen_bit_nodes"] = []
    for path in sorted(run.inputs["model"].iterdir()):
        path.rename(run.outputs["model"] / path.name)
    told = {"word": FLOAT, "holds": True, "sqnr_db": {}, "lifted": [],
            "nodes": said["nodes"], "below": []}  # fmt: skip
    _tell(run, tried, told, said)


def _told(
    run: Run, found: Sequence[Judged], nodes: Mapping[str, int], lifted: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    last = found[-1]
    return {
        "word": run.params["word"],
        "holds": last.holds,
        "sqnr_db": {one.on: _rounded(one.sqnr_db) for one in found},  # of the worst output
        "lifted": [layer["layer"] for layer in lifted],
        "nodes": dict(nodes),  # how many compute in 8 bits, in 16, in floats
        "below": [f"{last.on}: {said}" for said in last.below],
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)


def _tell(run: Run, tried: Sequence[Any], told: dict[str, Any], said: dict[str, Any]) -> None:
    verdict = {"holds": told["holds"], "tried": [*tried, told]}
    _write(run, "verdict", "verdict.json", verdict)
    _write(run, "quantization", "quantization.json", {**said, "search": {**told, **verdict}})


def _write(run: Run, output: str, name: str, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs[output] / name).write_text(text + "\n", encoding="utf-8")


def _read(run: Run, name: str, file: str) -> Any:
    return _read_file(run.inputs[name] / file) if name in run.inputs else None


def _read_file(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
