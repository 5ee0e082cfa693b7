"""The operator atlas against the plugin: a few cells are compiled anew, others each day."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.atlas import assemble
from tools.atlas.measure import ALONE, generations

ROOT = Path(__file__).parents[2]
ALWAYS = ("ai.onnx:Asin:f32", "ai.onnx:Neg:i32", "ai.onnx:Conv:a8", "ScaleSoftmaxFusion:f32")
SOME = 6

pytestmark = pytest.mark.slow


def again(chip: str, names: list[str]) -> dict[str, dict[str, Any]]:
    argv = [sys.executable, "-m", "tools.atlas.again", chip, *names]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=900, env=env)
    told: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_cells_that_are_compiled_anew_agree(capsys: pytest.CaptureFixture[str]):
    rows = {name_of(row): row for row in assemble.read()["cases"]}
    today = dt.datetime.now(tz=dt.UTC).date()
    drawn = random.Random(today.toordinal())
    chip = drawn.choice([*generations()])
    names = [*ALWAYS, *drawn.sample(sorted(rows), SOME)]
    arch = generations()[chip]
    recorded = {name: assemble.on_of(rows[name], arch) for name in names}
    fresh = again(chip, names)
    with capsys.disabled():
        sys.stdout.write(f"\natlas, {chip}: {', '.join(names)}\n")

    assert {name: told["on"] for name, told in fresh.items()} == recorded


def test_a_recorded_fusion_is_seen_again():
    (told,) = again(ALONE, ["ScaleSoftmaxFusion:f32"]).values()

    assert told == {"on": "npu", "fused": ["ScaleSoftmaxFusion"]}


def name_of(row: assemble.Row) -> str:
    return ":".join(filter(None, (row["name"], row["variant"], row["form"])))
