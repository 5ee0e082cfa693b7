"""judge: the numbers of a try held against the bars, and whether the next one has work to do.

The decision is a file of its own, and all that the next try sees: its key has "go" or "stop" in
it, and neither the bar nor the numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from qnnbuild.work.bars import check_names, excused, judge_outputs
from qnnbuild.work.run import Run

MARGIN_DB = 1.0
"""What a try must have above the bar: the verdict may be about more samples, on another chip."""

CPU, EMULATOR = "CPU", "HTP emulator"


def promising(run: Run) -> None:
    """Input "numbers" of a try → output "decision": whether the emulator shall run it.

    `params`: {bars}.
    """
    numbers = _read(run, "numbers")
    _decide(run, go=bool(numbers["made"]) and not _below(run, numbers, CPU))


def judge(run: Run) -> None:
    """Inputs "numbers", "emulated", "before" → outputs "verdict", and "decision" for the next try.

    "emulated" is missing where the CPU alone decides, "before" for the first try. A try that was
    not made leaves the decision as it was.
    """
    numbers = _read(run, "numbers")
    if not numbers["made"]:
        _write(run, "verdict", "verdict.json", {"made": False, "holds": False})
        _decide(run, go=bool(_read(run, "before", "decision.json")["go"]))
        return
    on = {CPU: numbers}
    if "emulated" in run.inputs and (told := _read(run, "emulated"))["made"]:
        on[EMULATOR] = told
    below = [f"{where}: {said}" for where, one in on.items() for said in _below(run, one, where)]
    verdict = {
        "made": True,
        "holds": not below,
        "word": numbers["word"],
        "sqnr_db": {where: _worst_db(run, one) for where, one in on.items()},
        "lifted": numbers["lifted"],
        "nodes": numbers["nodes"],  # how many compute in 8 bits, in 16, in floats
        "below": below,
        "warnings": numbers["warnings"],
    }
    _write(run, "verdict", "verdict.json", verdict)
    _decide(run, go=bool(below))


def _below(run: Run, numbers: Mapping[str, Any], where: str) -> list[str]:
    """Why it does not hold, in words."""
    if where == EMULATOR and numbers["why_not"] is not None:
        return [numbers["why_not"]]
    check_names(run.params["bars"], numbers["outputs"])
    wanted = _with_margin(run.params["bars"])
    return [
        f"{bar.of}: {bar.words()}"
        for bar in judge_outputs(numbers["outputs"], wanted)
        if not bar.holds
    ]


def _with_margin(bars: Mapping[str, Any]) -> dict[str, Any]:
    wanted = dict(bars)
    if wanted.get("min_sqnr_db") is not None:
        wanted["min_sqnr_db"] += MARGIN_DB
    if "outputs" in wanted:
        wanted["outputs"] = {name: _with_margin(own) for name, own in wanted["outputs"].items()}
    return wanted


def _worst_db(run: Run, numbers: Mapping[str, Any]) -> float | None:
    """Of the worst output that is judged; None where none of them is float."""
    excuses = excused(run.params["bars"])
    told = [
        one["all"]["sqnr_db"]
        for name, one in numbers["outputs"].items()
        if name not in excuses and "sqnr_db" in one["all"]
    ]
    return round(min(told), 1) if told else None


def _decide(run: Run, *, go: bool) -> None:
    _write(run, "decision", "decision.json", {"go": go})


def _write(run: Run, output: str, name: str, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs[output] / name).write_text(text + "\n", encoding="utf-8")


def _read(run: Run, name: str, file: str = "numbers.json") -> Any:
    return json.loads((run.inputs[name] / file).read_text(encoding="utf-8"))
