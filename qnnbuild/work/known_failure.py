"""What is known to fail is tried step by step, with any toolchain, and has to fail still."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qnnbuild.work.deadlines import Late, deadline
from qnnbuild.work.of_machine import is_of_machine
from qnnbuild.work.run import Run, WorkError

Work = Callable[[Run], None]

OF_OTHERS = ("samples", "reference", "recorded")
"""Inputs that the compile does not have."""

OF_THIS_MACHINE = ("by hand", "last lines")
"""Facts with paths in them: what is known of a failure is the same wherever it is tried."""


@dataclass(frozen=True, kw_only=True)
class Works:
    """What a toolchain compiles with and runs, and what judges that."""

    context: Work
    verify: Work
    metric: Work
    verdict: Work


def expect_failure(run: Run, works: Works, *, name: str) -> None:
    """Inputs of context, verify and metric (their code as "code-NAME") → output "failure".

    `params`: each one's own, verify and verdict None where nothing is run; reason, issue;
    deadline_s of each step. A step that is late has failed: the deadline is in the key, so that
    one that is given more time is tried again.
    """
    failed = _failure(run, works)
    if failed is None:
        raise WorkError(
            f"'{name}' is known to fail, and works now",
            place="expect_failure",
            facts=[("known as", run.params["reason"])],
            hint="take expect_failure away",
            exit_code=5,
        )
    step, error = failed
    said = {
        "step": step,
        "message": error.message,
        "facts": [list(fact) for fact in error.facts if fact[0] not in OF_THIS_MACHINE],
        "hint": error.hint,
        "reason": run.params["reason"],
        "issue": run.params["issue"],
    }
    text = json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["failure"] / "failure.json").write_text(text + "\n", encoding="utf-8")


def _failure(run: Run, works: Works) -> tuple[str, WorkError] | None:
    """The step that fails and how; None when all of them work. A machine's trouble is told."""
    step = "context"
    own = tuple(name for name in ("packages",) if name in run.inputs)
    try:
        given = [
            name for name in run.inputs if name not in OF_OTHERS and not name.startswith("code-")
        ]
        outputs: tuple[str, ...] = ("context", "facts")
        made = _do(works.context, run, step, given=given, made={}, outputs=outputs)
        if run.params["verify"] is None:
            return None
        step = "verify"
        needed = ("samples", "reference", *own, *(n for n in ("recorded",) if n in run.inputs))
        made |= _do(
            works.verify, run, step, given=needed, made=made, outputs=("outputs", "numbers")
        )
        step = "metric"
        values = _metrics(run, works, made)
        step = "verdict"
        judged = {"numbers": made["numbers"], **values}
        _do(works.verdict, run, step, made=judged, outputs=("verdict",))
    except WorkError as error:
        if is_of_machine(error):
            raise
        return step, error
    return None


def _metrics(run: Run, works: Works, made: Mapping[str, Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, params in run.params["metrics"].items():
        shown = {
            "code": run.inputs[f"code-{name}"],
            "outputs": made["outputs"],
            "reference": run.inputs["reference"],
            "samples": run.inputs["samples"],
        }
        outputs = {"values": _folder(f"metric-{name}/values")}
        with _in_time(run.params["deadline_s"]):
            works.metric(Run(params=params, inputs=shown, outputs=outputs))
        found[f"values-{name}"] = outputs["values"]
    return found


def _do(
    work: Work,
    run: Run,
    name: str,
    *,
    given: Sequence[str] = (),
    made: Mapping[str, Path],
    outputs: tuple[str, ...],
) -> dict[str, Path]:
    """One step's work with inputs of ours and of the steps before; its outputs' folders."""
    found = {output: _folder(f"{name}/{output}") for output in outputs}
    one = Run(
        params=run.params[name],
        inputs={**made, **{given_one: run.inputs[given_one] for given_one in given}},
        outputs=found,
    )
    with _in_time(run.params["deadline_s"]):
        work(one)
    run.peak_bytes = max(run.peak_bytes, one.peak_bytes)
    return found


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    try:
        with deadline(seconds):
            yield
    except Late:
        raise WorkError(
            f"it took longer than its deadline of {seconds:g} s",
            place="deadline",
            hint="give it more with `deadline:` in the recipe",
        ) from None


def _folder(name: str) -> Path:
    folder = Path("steps") / name
    folder.mkdir(parents=True)
    return folder
