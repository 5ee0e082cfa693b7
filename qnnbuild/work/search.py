"""search: one try of `precision: auto`. It quantizes and measures; what is enough, others say.

No bar is in its key: a bar that is raised or lowered finds what was made and measured before.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qnnbuild.work.feeds import feed_files
from qnnbuild.work.onnx_files import read, read_whole
from qnnbuild.work.qdq import nodes_by_width
from qnnbuild.work.quantize_ort import quantize
from qnnbuild.work.quantized_report import report
from qnnbuild.work.run import Run
from qnnbuild.work.trying import Trial

FLOAT = "float"
NOT_MADE = "not-made"
"""The only file of an output of a try that was not needed: the same whatever the others were."""


def attempt(run: Run) -> None:
    """Inputs "model", "names", "feeds", "samples" → "model", "quantization", "numbers".

    Ranges come from the feeds, numbers from the samples: those that the verdict is about.
    `params`: {word, lifts: layers to lift or 0, quantization: None for the float model}. Input
    "decision" is there for all but the first, "sensitivity" for those that lift.
    """
    lifted = _lifted(run) if _is_wanted(run) else None
    if lifted is None:
        _pass(run)
    elif run.params["quantization"] is None:
        _leave_float(run)
    else:
        _quantize(run, lifted)


def _is_wanted(run: Run) -> bool:
    return "decision" not in run.inputs or bool(_read(run, "decision", "decision.json")["go"])


def _lifted(run: Run) -> list[Mapping[str, Any]] | None:
    """The layers to lift, worst first; None when fewer tries have lifted all there are."""
    wanted = run.params["lifts"]
    if not wanted:
        return []
    layers: list[Mapping[str, Any]] = _read(run, "sensitivity", "sensitivity.json")["layers"]
    return None if len(layers) <= wanted // 2 else layers[:wanted]


def _pass(run: Run) -> None:
    for name in ("model", "quantization"):
        (run.outputs[name] / NOT_MADE).write_text("this try was not needed\n", encoding="utf-8")
    _write(run, "numbers", "numbers.json", {"made": False})


def _quantize(run: Run, lifted: Sequence[Mapping[str, Any]]) -> None:
    nodes = list(dict.fromkeys(node for layer in lifted for node in layer["lift"]))
    asked = dict(run.params["quantization"])
    asked["sixteen_bit_nodes"] = [*asked["sixteen_bit_nodes"], *map(glob.escape, nodes)]
    one = Run(
        params=asked,
        inputs={name: run.inputs[name] for name in ("model", "feeds", "names")},
        outputs={name: run.outputs[name] for name in ("model", "quantization")},
    )
    quantize(one)
    trial = Trial(
        model=run.inputs["model"] / "model.onnx",
        samples=feed_files(run.inputs["samples"]),
        folder=Path("answers"),
    )
    measured = trial.on_cpu(run.outputs["model"] / "model.onnx")
    path = run.outputs["quantization"] / "quantization.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    names = _read(run, "names", "names.json")
    wide = nodes_by_width(read(run.outputs["model"] / "model.onnx")).get("16", [])
    said["sixteen_bit_nodes"] = [names.get(name) or name for name in wide]
    _write(run, "quantization", "quantization.json", said)
    # of tries that are thrown away nobody needs to know their tensors: what is taken warns
    warnings = [[notice.message, notice.place] for notice in one.warnings]
    told = {"outputs": measured, "lifted": [layer["layer"] for layer in lifted]}
    _tell(run, said, warnings=warnings, **told)


def _leave_float(run: Run) -> None:
    said = report(
        read_whole(run.inputs["model"]), {}, cut={}, compared="the model is as it was", blocks=0
    )
    said["sixteen_bit_nodes"] = []
    for path in sorted(run.inputs["model"].iterdir()):
        path.rename(run.outputs["model"] / path.name)
    _write(run, "quantization", "quantization.json", said)
    # whether floats hold the bar, the verdict on the binary says
    warning = "no quantized form that was tried holds the bar: the graph stays float"
    _tell(run, said, outputs={}, lifted=[], warnings=[[warning, "precision"]])


def _tell(run: Run, said: Mapping[str, Any], **more: Any) -> None:
    """The numbers, and all that a verdict repeats of the try."""
    numbers = {"made": True, "word": run.params["word"], "nodes": dict(said["nodes"]), **more}
    _write(run, "numbers", "numbers.json", numbers)


def _write(run: Run, output: str, name: str, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs[output] / name).write_text(text + "\n", encoding="utf-8")


def _read(run: Run, name: str, file: str) -> Any:
    return json.loads((run.inputs[name] / file).read_text(encoding="utf-8"))
