"""convert with `precision: auto`: the first try that holds the bars, else the float model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qnnbuild.work.run import Run


def taken(run: Run) -> None:
    """Inputs "model-NN", "quantization-NN" of all tries and "verdict-NN" of the judged ones.

    → outputs "model" and "quantization". The last try is the float graph, which no verdict judges
    here: it has "numbers-NN".
    """
    numbers = sorted(name.removeprefix("model-") for name in run.inputs if name.startswith("model"))
    *judged, last = numbers
    verdicts = {
        number: _read(run.inputs[f"verdict-{number}"] / "verdict.json") for number in judged
    }
    good = next((number for number, verdict in verdicts.items() if verdict["holds"]), last)
    tried = [one for one in verdicts.values() if one["made"]]
    if good == last:
        told = _read(run.inputs[f"numbers-{last}"] / "numbers.json")
        tried.append({**told, "holds": True, "sqnr_db": {}, "below": []})
    for message, place in tried[-1]["warnings"]:
        run.warn(message, place=place)
    for path in sorted(run.inputs[f"model-{good}"].iterdir()):
        path.rename(run.outputs["model"] / path.name)
    said = _read(run.inputs[f"quantization-{good}"] / "quantization.json")
    told = [{name: one[name] for name in TOLD} for one in tried]
    said["search"] = {**told[-1], "tried": told}
    text = json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["quantization"] / "quantization.json").write_text(text + "\n", encoding="utf-8")


TOLD = ("word", "holds", "sqnr_db", "lifted", "nodes", "below")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
