"""emulate: what a try of `precision: auto` answers on the HTP emulator, where the CPU holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qnnbuild.work.feeds import feed_files
from qnnbuild.work.run import Run
from qnnbuild.work.trying import Trial


def emulated(run: Run) -> None:
    """Inputs "model" (float), "attempt" (quantized), "samples", "decision" → output "numbers".

    `params`: {soc_model, options, cpu_fallback}.
    """
    decision = json.loads((run.inputs["decision"] / "decision.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {"made": bool(decision["go"])}
    if found["made"]:
        trial = Trial(
            model=run.inputs["model"] / "model.onnx",
            samples=feed_files(run.inputs["samples"]),
            folder=Path("answers"),
        )
        outputs, why_not = trial.on_emulator(run.inputs["attempt"] / "model.onnx", run.params)
        found |= {"outputs": outputs, "why_not": why_not}
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["numbers"] / "numbers.json").write_text(text + "\n", encoding="utf-8")
