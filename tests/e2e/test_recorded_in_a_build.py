"""Answers of the original framework, recorded: real doit holds the binary's against them, too.

The framework is numpy here, so that neither ONNX nor its runtime had a hand in what was recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.e2e.small_repo import SmallRepo
from tests.graphs import model

pytestmark = pytest.mark.slow

RECIPE = """\
model: r
license: MIT
source: {file: ../onnx/net.onnx}
graphs:
  net:
    verify:
      chips: generations
      inputs: ../inputs/*.npz
      reference: ../answers/*.npz
      min_sqnr_db: 30
chips: [SM8750]
"""
SAMPLES = ("first", "second", "third")
RANDOM = np.random.default_rng(4)
INPUTS = {name: RANDOM.standard_normal((1, 64)).astype(np.float32) for name in SAMPLES}
WEIGHTS: dict[str, Any] = {
    "w": RANDOM.standard_normal((64, 32)).astype(np.float32) / 8,
    "b": RANDOM.standard_normal(32).astype(np.float32),
}


def network(**weights: Any) -> onnx.ModelProto:
    return model(
        "g (float[1, 64] x) => (float[1, 32] hidden, float[1, 32] scores) {"
        " [product] m = MatMul (x, w) [sum] s = Add (m, b)"
        " [hidden] hidden = Relu (s) [scores] scores = Softmax <axis = -1> (s) }",
        **{**WEIGHTS, **weights},
    )


def by_numpy(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same network, in double precision and from its formula."""
    summed = x.astype(np.float64) @ WEIGHTS["w"].astype(np.float64) + WEIGHTS["b"]
    powers = np.exp(summed - summed.max())
    return {"hidden": np.maximum(summed, 0), "scores": powers / powers.sum()}


def repo_with(
    folder: Path, answers: Mapping[str, Mapping[str, np.ndarray]], net: onnx.ModelProto
) -> SmallRepo:
    repo = SmallRepo.make(folder)
    repo.model("net", net)
    repo.recipe("r", RECIPE)
    for kind, arrays in (
        ("inputs", {n: {"x": x} for n, x in INPUTS.items()}),
        ("answers", answers),
    ):
        (folder / kind).mkdir()
        for name, values in arrays.items():
            recorded: dict[str, Any] = {n: a.astype(np.float32) for n, a in values.items()}
            np.savez(folder / kind / f"{name}.npz", **recorded)
    return repo


def test_recorded_answers_that_agree_ship_with_their_numbers(tmp_path: Path) -> None:
    right = {name: by_numpy(x) for name, x in INPUTS.items()}
    repo = repo_with(tmp_path / "repo", right, network())
    done = repo.doit()
    manifest = json.loads((repo.root / "build/r/SM8750/manifest.json").read_text())
    text = json.dumps(manifest)
    recorded = numbers(repo)["recorded"]

    assert (done.code, done.err) == (0, "")
    assert set(recorded) == {"hidden", "scores"}
    assert all(one["all"]["sqnr_db"] > 40 for one in recorded.values())
    assert text.count('"against": "recorded"') == 2


def test_wrong_recorded_answers_are_told_as_those_that_the_binary_misses(tmp_path: Path) -> None:
    wrong = {name: by_numpy(x) for name, x in INPUTS.items()}
    wrong["second"]["hidden"] = wrong["second"]["hidden"] + 1
    repo = repo_with(tmp_path / "repo", wrong, network())
    done = repo.doit()

    assert done.code == 5
    assert below(done.out) == [("hidden", "recorded")]
    assert re.search(r"worst output: +hidden, sample 000001: SQNR ", done.out)
    assert "the recorded 'hidden' is far from what the ONNX file answers on the CPU" in done.out
    assert not (repo.root / "build" / "r").exists()


def test_answers_of_another_order_are_found(tmp_path: Path) -> None:
    turned = dict(zip(INPUTS, [by_numpy(x) for x in reversed(INPUTS.values())], strict=True))
    done = repo_with(tmp_path / "repo", turned, network()).doit()

    assert done.code == 5
    assert below(done.out) == [("hidden", "recorded"), ("scores", "recorded")]


def test_a_wrong_export_agrees_with_itself_and_misses_what_was_recorded(tmp_path: Path) -> None:
    """The binary does what the ONNX file says; only the framework's answers show the mistake."""
    right = {name: by_numpy(x) for name, x in INPUTS.items()}
    done = repo_with(tmp_path / "repo", right, network(b=WEIGHTS["b"] + 1)).doit()

    assert done.code == 5
    assert ("hidden", "recorded") in below(done.out)
    assert {against for _, against in below(done.out)} == {"recorded"}


def numbers(repo: SmallRepo) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    record = json.loads(repo.qnnbuild("show", "verify/r/net@SM8750", "--json").out)["record"]
    digest, _ = record["outputs"]["numbers"]["files"]["numbers.json"]
    (path,) = (repo.root / ".qnnbuild" / "artifacts").rglob(f"*{digest[2:]}*")
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = json.loads(path.read_text())
    return found


def below(told: str) -> list[tuple[str, str]]:
    """Output and what it was held against, for each bar that is told not to hold."""
    lines = [line.strip() for line in told.splitlines() if line.endswith(": BELOW")]
    return sorted(
        (line.partition(":")[0], "recorded" if "the recorded answers" in line else "the original")
        for line in lines
    )
