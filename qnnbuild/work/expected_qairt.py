"""expected for Qualcomm's SDK: a compile that is known to fail is tried, and has to fail still."""

from __future__ import annotations

import json
from pathlib import Path

from qnnbuild.work.deadlines import Late, deadline
from qnnbuild.work.qairt_context import context
from qnnbuild.work.run import Run, WorkError


def expected(run: Run) -> None:
    """Inputs of context → output "failure". `params`: context's own; reason, issue, deadline_s.

    What it compiles is run on a device only: a graph that compiles works, as far as is known here.
    """
    error = _failure(run)
    if error is None:
        raise WorkError(
            f"'{run.params['context']['binary']}' is known to fail, and works now",
            place="expect_failure",
            facts=[("known as", run.params["reason"])],
            hint="take expect_failure away",
            exit_code=5,
        )
    said = {
        "step": "context",
        "message": error.message,
        # how to repeat it has places of this machine in it
        "facts": [list(fact) for fact in error.facts if fact[0] not in ("by hand", "last lines")],
        "hint": error.hint,
        "reason": run.params["reason"],
        "issue": run.params["issue"],
    }
    text = json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["failure"] / "failure.json").write_text(text + "\n", encoding="utf-8")


def _failure(run: Run) -> WorkError | None:
    outputs = {name: Path("steps") / name for name in ("context", "facts")}
    for folder in outputs.values():
        folder.mkdir(parents=True)
    limit = run.params["deadline_s"]
    try:
        with deadline(limit):
            context(Run(params=run.params["context"], inputs=run.inputs, outputs=outputs))
    except Late:
        return WorkError(f"it took longer than its deadline of {limit:g} s", place="deadline")
    except WorkError as error:
        return error
    return None
