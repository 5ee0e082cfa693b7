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

from tools.atlas import assemble, rates
from tools.atlas.measure import ALONE, all_cases, generations

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


def test_the_prediction_is_as_good_as_the_page_says(capsys: pytest.CaptureFixture[str]):
    atlas = assemble.read()
    archs = sorted(atlas["chips"].values())
    cases = list(all_cases())
    cpu = rates.of_atlas(cases, atlas["cases"], archs)
    fusions = rates.of_atlas_fusions(cases, atlas["cases"], generations()[ALONE])
    told = {row["what"]: row for row in atlas["rates"]}["the prediction, on the atlas itself"]
    with capsys.disabled():
        sys.stdout.write(f"\natlas, falls to the CPU: {cpu}\natlas, fusions: {fusions}\n")

    assert told["cpu"] == cpu.as_list()
    assert told["fusions"] == fusions.as_list()
    assert min(cpu.precision, cpu.recall, fusions.precision, fusions.recall) > 0.9
