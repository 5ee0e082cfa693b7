"""From an ONNX file in an empty folder to a binary that was run, by two commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.e2e.small_repo import SmallRepo
from tests.graphs import model

TAGGER = """g (int64[batch, seq] ids, double[batch, seq] weight) => (float[batch, seq, 8] y) {
  rows = Gather <axis = 0> (table, ids)
  narrow = Cast <to = 1> (weight)
  wide = Unsqueeze (narrow, last)
  y = Mul (rows, wide)
}"""


@pytest.mark.slow
def test_a_model_of_ones_own_becomes_a_verified_binary(tmp_path: Path) -> None:
    env = SmallRepo.make(tmp_path / "other").env
    repo = SmallRepo(tmp_path / "mine", env)
    repo.root.mkdir()
    table = np.linspace(-1, 1, 240, dtype=np.float32).reshape(30, 8)
    onnx.save(model(TAGGER, table=table, last=np.array([2])), repo.root / "tagger.onnx")
    written = repo.qnnbuild("init", "--from", "tagger.onnx", "--chips", "Snapdragon 8 Elite")
    built = repo.doit("tagger")
    index = json.loads((repo.root / "build" / "index.json").read_text())
    verdict = repo.qnnbuild("show", "verdict/tagger/tagger@SM8750")

    assert written.code == 0, written.err
    assert "  guessed     ids [1, 128]: batch = 1 (a batch of one); seq = 128" in written.out
    assert built.code == 0, built.out + built.err
    assert verdict.code == 0
    assert "SM8750" in json.dumps(index)
    assert list((repo.root / "build" / "tagger" / "SM8750").glob("*_qnn.bin"))
