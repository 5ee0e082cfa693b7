"""A user's own measure: what it is given, and what of its answers is taken."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from qnnbuild.work.metric import metric
from qnnbuild.work.npz import write_npz
from qnnbuild.work.run import WorkError
from tests.working import run_work

PARAMS = {"name": "off", "file": "eval/off.py", "function": "metric"}


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """An action has a process of its own; here the path is put back."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def measured(folder: Path, code: str, **beside: str) -> dict[str, float]:
    (folder / "code" / "eval").mkdir(parents=True)
    for name, text in {"off": code, **beside}.items():
        (folder / "code" / "eval" / f"{name}.py").write_text(text)
    for name, value in (("outputs", 3.0), ("reference", 1.0), ("samples", 7.0)):
        (folder / name).mkdir()
        for number in range(2):
            array = np.full((1, 2), value + number, np.float32)
            write_npz(folder / name / f"{number:06}.npz", {"y": array})
    run_work(
        metric,
        folder / "run",
        params=PARAMS,
        inputs={name: folder / name for name in ("code", "outputs", "reference", "samples")},
        outputs=("values",),
    )
    found: dict[str, float] = json.loads(
        (folder / "run" / "out" / "values" / "values.json").read_text()
    )
    return found


def test_a_metric_gets_lists_by_name_and_gives_a_number(tmp_path: Path) -> None:
    code = (
        "def metric(outputs, references, inputs):\n"
        "    assert [a.shape for a in inputs['y']] == [(1, 2), (1, 2)]\n"
        "    return max(abs(a - b).max() for a, b in zip(outputs['y'], references['y']))\n"
    )

    assert measured(tmp_path, code) == {"off": 2.0}


def test_a_metric_may_give_several_numbers_and_import_what_lies_beside_it(tmp_path: Path) -> None:
    code = "from words_beside import N\ndef metric(o, r, i): return {'a': 1, 'b': N}\n"

    assert measured(tmp_path, code, words_beside="N = 0.5\n") == {"a": 1.0, "b": 0.5}


@pytest.mark.parametrize(
    ("code", "message", "exit_code"),
    [
        ("def metric(o, r, i): return float('nan')", "the metric 'off' gives nan", 5),
        ("def metric(o, r, i): return {'a': float('inf')}", "the metric 'off' gives inf", 5),
        ("def metric(o, r, i): return {}", "the metric 'off' gives no value", 5),
        (
            "def metric(o, r, i): return None",
            "the metric 'off' gives NoneType where a number is wanted",
            4,
        ),
        ("def metric(o, r, i): return o['z']", "the metric 'off' failed", 4),
        ("def metrik(o, r, i): return 1", "eval/off.py has no function 'metric'", 2),
        ("import nowhere_at_all", "eval/off.py cannot be loaded", 4),
    ],
)
def test_what_is_no_measure_is_an_error(
    tmp_path: Path, code: str, message: str, exit_code: int
) -> None:
    with pytest.raises(WorkError) as caught:
        measured(tmp_path, code)

    assert caught.value.message == message
    assert caught.value.exit_code == exit_code


def test_a_metric_that_fails_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        measured(tmp_path, "def metric(o, r, i):\n    return o['z']\n")

    assert caught.value.facts == (("KeyError", "'z'"), ("in", "eval/off.py:2"))
    assert caught.value.place == "verify.metrics.off"
