"""A known failure has to fail still. The steps themselves are stand-ins here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.work import expected_ort
from qnnbuild.work.run import Run, WorkError

PARAMS: dict[str, Any] = {
    "context": {"graph": "vad"},
    "verify": {},
    "metrics": {},
    "verdict": {},
    "reason": "it overflows",
    "issue": "a/b#7",
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


def test_what_works_now_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as told:
        expected(monkeypatch, tmp_path, {})

    assert told.value.message == "'vad' is known to fail, and works now"
    assert told.value.hint == "take expect_failure away"
    assert told.value.exit_code == 5


def test_a_bug_is_no_known_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(run: Run) -> None:
        raise KeyError("graph")

    with pytest.raises(KeyError):
        expected(monkeypatch, tmp_path, {"verify": broken})
