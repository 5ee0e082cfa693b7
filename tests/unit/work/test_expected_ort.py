"""A known failure has to fail still. The steps themselves are stand-ins here."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.work import expected_ort
from qnnbuild.work.of_machine import MachineError
from qnnbuild.work.run import Run, WorkError

PARAMS: dict[str, Any] = {
    "context": {"graph": "vad"},
    "verify": {},
    "metrics": {},
    "verdict": {},
    "reason": "it overflows",
    "issue": "a/b#7",
    "deadline_s": 60.0,
}


def refuse(run: Run) -> None:
    raise WorkError("below its bar", facts=[("y", "-126 dB")], hint="debug", exit_code=5)


def work(run: Run) -> None:
    for folder in run.outputs.values():
        (folder / "made").write_text("")


def expected(
    monkeypatch: pytest.MonkeyPatch, folder: Path, steps: dict[str, Callable[[Run], None]]
) -> dict[str, Any]:
    monkeypatch.chdir(folder)
    for name in ("context", "verify", "verdict"):
        monkeypatch.setattr(expected_ort, name, steps.get(name, work))
    out = folder / "out"
    out.mkdir()
    inputs = {name: folder / name for name in ("model", "names", "samples", "reference")}
    expected_ort.expected(Run(params=PARAMS, inputs=inputs, outputs={"failure": out}))
    found: dict[str, Any] = json.loads((out / "failure.json").read_text())
    return found


@pytest.mark.parametrize("step", ["context", "verify", "verdict"])
def test_a_failure_is_kept_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    assert expected(monkeypatch, tmp_path, {step: refuse}) == {
        "step": step,
        "message": "below its bar",
        "facts": [["y", "-126 dB"]],
        "hint": "debug",
        "reason": "it overflows",
        "issue": "a/b#7",
    }


@pytest.mark.parametrize("step", ["context", "verify"])
def test_a_step_that_runs_into_its_deadline_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    def hang(run: Run) -> None:
        while True:
            time.sleep(60)

    monkeypatch.setitem(PARAMS, "deadline_s", 0.05)
    found = expected(monkeypatch, tmp_path, {step: hang})

    assert (found["step"], found["message"]) == (
        step,
        "it took longer than its deadline of 0.05 s",
    )
    assert found["reason"] == "it overflows"


def test_a_bug_of_a_late_step_hides_no_deadline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def hang(run: Run) -> None:
        while True:
            try:
                time.sleep(60)
            except Exception as error:
                raise AssertionError("it took the deadline for an error of its own") from error

    monkeypatch.setitem(PARAMS, "deadline_s", 0.05)

    assert expected(monkeypatch, tmp_path, {"context": hang})["step"] == "context"


def test_what_works_in_time_is_an_error_still(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def slow(run: Run) -> None:
        time.sleep(0.01)
        work(run)

    with pytest.raises(WorkError, match="is known to fail, and works now"):
        expected(monkeypatch, tmp_path, {"context": slow})

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_works_now_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as told:
        expected(monkeypatch, tmp_path, {})

    assert told.value.message == "'vad' is known to fail, and works now"
    assert told.value.hint == "take expect_failure away"
    assert told.value.exit_code == 5


@pytest.mark.parametrize(
    "trouble",
    [
        MachineError("this action was given no SDK", place="toolchain"),
        WorkError("it failed", facts=[("last lines", "cp: m.bin: No space left on device")]),
        WorkError("the compiler crashed on 'vad' for SM8750 (SIGKILL)"),
    ],
)
@pytest.mark.parametrize("step", ["context", "verify"])
def test_trouble_of_the_machine_is_no_known_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str, trouble: WorkError
) -> None:
    def broken(run: Run) -> None:
        raise trouble

    with pytest.raises(WorkError) as told:
        expected(monkeypatch, tmp_path, {step: broken})

    assert told.value is trouble
    assert not (tmp_path / "out/failure.json").exists()


def test_a_bug_is_no_known_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(run: Run) -> None:
        raise KeyError("graph")

    with pytest.raises(KeyError):
        expected(monkeypatch, tmp_path, {"verify": broken})
