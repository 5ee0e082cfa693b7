"""`qnnbuild check --operators` tells what a compile then does, and needs no build for it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.small_repo import SmallRepo
from tests.graphs import inferred, model

RECIPE = """\
model: mixed
license: MIT
source: {file: ../onnx/mixed.onnx}
graphs: {main: {cpu_fallback: allow, precision: fp16}}
chips: [SM8750]
"""
GRAPH = """g (float[1, 8] x, int32[1, 8] n) => (float[1, 8] y, int32[1, 8] m) {
  [scale] s = Mul (x, k)  [soft] y = Softmax (s)  [minus] m = Neg (n)
}"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    made = SmallRepo.make(tmp_path_factory.mktemp("mixed") / "repo")
    made.model("mixed", inferred(model(GRAPH, k=np.array(0.5, np.float32))))
    made.recipe("mixed", RECIPE)
    return made


def told(repo: SmallRepo) -> dict[str, object]:
    (one,) = json.loads(repo.qnnbuild("check", "--operators", "--json").out)["operators"]
    return {
        "model": one["model"],
        "cpu": [node["node"] for node in one["on_cpu"]],
        "fused": [(fusion["fusion"], fusion["nodes"]) for fusion in one["fusions"]],
    }


def test_a_file_of_the_repo_is_enough(repo: SmallRepo):
    before = told(repo)

    assert before == {
        "model": "source",
        "cpu": ["minus"],
        "fused": [("ScaleSoftmaxFusion", ["scale", "soft"])],
    }
    assert not (repo.root / ".qnnbuild").exists()


def test_plain_check_reads_no_model(repo: SmallRepo):
    assert "operators" not in json.loads(repo.qnnbuild("check", "--json").out)


def test_the_compile_does_what_was_told(repo: SmallRepo):
    done = repo.doit("context/mixed/main@SM8750")
    facts = json.loads(repo.qnnbuild("trace", "context/mixed/main@SM8750", "--json").out)

    assert done.code == 0, done.out + done.err
    assert told(repo)["model"] == "convert"
    assert told(repo)["cpu"] == ["minus"]
    assert "minus" in json.dumps(facts)


def test_a_graph_without_a_model_is_told(tmp_path: Path):
    repo = SmallRepo.make(tmp_path / "repo")
    text = RECIPE.replace("{file: ../onnx/mixed.onnx}", "{url: 'https://x.invalid/m', sha256: %s}")
    repo.recipe("mixed", text % ("0" * 64))
    done = repo.qnnbuild("check", "--operators")

    assert done.code == 0, done.err
    assert done.out == "mixed/main: no model at hand; doit 'prepare/mixed/main*' makes it\n"
