"""A graph for the GPU: a bundle without a binary, since only a device can compile it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from qnnbuild.work.compare import answers, difference
from tests.e2e.small_repo import SmallRepo
from tests.models import tiny_conv

pytestmark = pytest.mark.slow

RECIPE = """\
model: conv
license: MIT
source: {file: ../onnx/conv.onnx}
chips: [SM8750, SC8380XP]
graphs:
  full: {backend: gpu, precision: fp32}
  half: {backend: gpu}
  small: {backend: gpu, precision: w8}
  npu: {}
"""
OPTIONS = """\
  told: {backend: gpu, precision: fp32, options: {ort: {profiling_level: basic}}}
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    made = SmallRepo.make(tmp_path_factory.mktemp("gpu") / "repo")
    made.model("conv", tiny_conv(16))
    made.recipe("conv", RECIPE + OPTIONS)
    done = made.doit()
    assert (done.code, done.err) == (0, "")
    return made


@pytest.fixture(scope="module")
def bundle(repo: SmallRepo) -> Path:
    return repo.root / "build/conv/SM8750"


def test_the_bundle_has_the_onnx_file_and_says_that_only_a_device_runs_it(bundle: Path):
    graphs = json.loads((bundle / "manifest.json").read_text())["graphs"]

    assert (graphs["full"]["onnx"], graphs["npu"]["onnx"]) == ("full.onnx", "npu_ctx.onnx")
    assert graphs["full"]["run"]["provider_options"] == {"backend_type": "gpu"}
    assert graphs["npu"]["run"]["provider_options"] == {"backend_type": "htp"}
    assert graphs["full"]["verified"] is None
    assert graphs["full"]["context"]["device_only"] == (
        "the backend gpu starts on a device only, which compiles the graph for itself: not run here"
    )


def test_its_page_says_so_too(bundle: Path):
    text = (bundle / "README.md").read_text()

    assert "For the NPU, where compiled, and the GPU of the **SM8750**" in text
    assert "`full`: the backend gpu starts on a device only" in text


def test_run_py_does_not_pretend_to_be_a_gpu(bundle: Path):
    argv = [sys.executable, "run.py", "--graph", "full"]
    done = subprocess.run(argv, check=False, cwd=bundle, capture_output=True, text=True)

    assert done.returncode == 4
    assert done.stderr == (
        "run.py: only a device runs it: on a GPU, by Genie, or with its own operators\n"
    )


def test_options_reach_the_device(bundle: Path):
    graphs = json.loads((bundle / "manifest.json").read_text())["graphs"]

    assert graphs["told"]["run"]["provider_options"] == {
        "backend_type": "gpu",
        "profiling_level": "basic",
        "profiling_file_path": "told_profiling.csv",
    }


def test_fp16_is_in_the_file_and_still_the_same_model(bundle: Path):
    half = onnx.load(str(bundle / "half.onnx"))
    x = np.random.default_rng(3).standard_normal((1, 3, 16, 16)).astype(np.float32)
    (ours,) = answers(bundle / "half.onnx", [{"x": x.astype(np.float16)}])
    (theirs,) = answers(bundle / "full.onnx", [{"x": x}])

    assert {t.data_type for t in half.graph.initializer if t.data_type != TensorProto.INT64} == {
        TensorProto.FLOAT16
    }
    assert difference(ours[0], theirs[0]).sqnr_db > 30


def test_weights_of_the_gpu_are_unsigned_around_the_middle(bundle: Path):
    small = onnx.load(str(bundle / "small.onnx"))
    stored = {tensor.name: tensor for tensor in small.graph.initializer}
    zeros = [
        onnx.numpy_helper.to_array(stored[node.input[2]])
        for node in small.graph.node
        if node.op_type == "DequantizeLinear"
    ]

    assert zeros
    assert {(zero.dtype.name, int(zero.reshape(-1)[0])) for zero in zeros} == {("uint8", 128)}


def test_chips_share_all_that_is_made(repo: SmallRepo):
    done = repo.qnnbuild("show", "context/conv/full@SC8380XP")

    assert done.code == 0
    assert (repo.root / "build/conv/SC8380XP/full.onnx").read_bytes() == (
        repo.root / "build/conv/SM8750/full.onnx"
    ).read_bytes()
