"""verify's numbers of a quantized classifier against those of a script that is no part of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.small_repo import SmallRepo
from tests.e2e.verifying import by_hand, numbers_of
from tests.graphs import model

pytestmark = pytest.mark.slow(seconds=40)

RECIPE = """\
model: c
license: MIT
source: {file: ../onnx/net.onnx}
graphs:
  net:
    precision: PRECISION
    calibration: ../inputs/*.npz
    verify: {chips: generations, inputs: ../inputs/*.npz, min_sqnr_db: 1, min_top1: 0.1}
chips: [SM8750]
"""
RANDOM = np.random.default_rng(8)
NET = model(
    "g (float[1, 64] x) => (float[1, 40] logits, float[1, 40] scores) {"
    " [first] h = MatMul (x, w) [act] r = Relu (h) [second] logits = MatMul (r, v)"
    " [soft] scores = Softmax <axis = -1> (logits) }",
    w=RANDOM.standard_normal((64, 64)).astype(np.float32) / 8,
    v=RANDOM.standard_normal((64, 40)).astype(np.float32) / 8,
)


def outputs(repo: SmallRepo, action: str, output: str, to: Path) -> Path:
    """What an action made, out of the store."""
    record = json.loads(repo.qnnbuild("show", action, "--json").out)["record"]
    to.mkdir()
    for name, (digest, _) in record["outputs"][output]["files"].items():
        (path,) = (repo.root / ".qnnbuild" / "artifacts").rglob(f"*{digest[2:]}*")
        shutil.copyfile(path, to / name)
    return to


@pytest.mark.parametrize("precision", ["w4a8", "w8a16"])
def test_a_quantized_classifier_has_the_same_numbers_by_hand(
    precision: str, tmp_path: Path
) -> None:
    repo = SmallRepo.make(tmp_path / "repo")
    repo.model("net", NET)
    repo.recipe("c", RECIPE.replace("PRECISION", precision))
    (repo.root / "inputs").mkdir()
    for number in range(12):
        x = np.random.default_rng(number).standard_normal((1, 64)).astype(np.float32)
        np.savez(repo.root / "inputs" / f"{number:02}.npz", x=x)
    done = repo.doit()
    numbers = outputs(repo, "verify/c/net@SM8750", "numbers", tmp_path / "numbers")
    told: dict[str, Any] = json.loads((numbers / "numbers.json").read_text(encoding="utf-8"))
    context = outputs(repo, "context/c/net@SM8750", "context", tmp_path / "context")
    samples = outputs(repo, "samples/c/net", "feeds", tmp_path / "samples")
    references = outputs(repo, "reference/c/net", "reference", tmp_path / "references")
    found = by_hand(context / "net_ctx.onnx", samples, references)

    assert (done.code, done.err) == (0, "")
    assert set(found) == {"logits", "scores"}
    assert found == numbers_of(told)
