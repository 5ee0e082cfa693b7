"""A published model that compiles without a word and is garbage in fp16: found, and explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from qnnbuild.work.debug import debug
from qnnbuild.work.fetch import fetch_pypi
from qnnbuild.work.run import WorkError
from tests.e2e.verifying import Built, built, in_own_folder, judged, verified

SOURCE = {
    "pypi": "magika==1.0.3",
    "member": "magika/models/standard_v3_3/model.onnx",
    "sha256": "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
}
PADDING = 256


LICENSE = Path(__file__).parents[2] / "LICENSE"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ModelProto:
    folder = tmp_path_factory.mktemp("source")
    in_own_folder(fetch_pypi, folder, params=SOURCE, inputs={}, outputs=("model",))
    return onnx.load(str(folder / "out/model/model.onnx"))


@pytest.fixture(scope="module")
def magika(source: ModelProto, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return compiled(source, tmp_path_factory.mktemp("magika"))


def compiled(source: ModelProto, folder: Path, **graph: Any) -> Built:
    """For fp16, with one file as its sample: its begin, and its end."""
    text = LICENSE.read_bytes().strip()
    numbers = np.array([*text[:1024], *text[-1024:]], np.int32)
    inputs = {"bytes": {"shape": [1, 2048], "range": [0, PADDING]}}
    made = built(source, [{"bytes": numbers[None]}], folder, inputs=inputs, **graph)
    verified(made)
    return made


@pytest.mark.slow(seconds=20)
def test_its_binary_runs_and_is_refused(magika: Built) -> None:
    with pytest.raises(WorkError) as caught:
        judged(magika, {"min_sqnr_db": 30.0})

    assert caught.value.message.startswith("'net' on SM8750 is below its bar: target_label: SQNR -")
    assert caught.value.exit_code == 5


@pytest.mark.slow
def test_with_its_variance_repaired_it_holds(source: ModelProto, tmp_path: Path) -> None:
    made = compiled(source, tmp_path, repairs=("two-pass-variance",))

    assert judged(made, {"min_sqnr_db": 30.0, "min_top1": 1.0})["judged"] is True


@pytest.mark.slow
def test_the_first_bad_layer_is_the_variance_that_overflows(magika: Built, tmp_path: Path) -> None:
    in_own_folder(
        debug,
        tmp_path / "run",
        params={
            "soc_model": 69,
            "options": {},
            "cpu_fallback": False,
            "quantized": False,
            "sample": 0,
            "bar_db": 20.0,
            "alone": False,
        },
        inputs={
            "model": magika.out("prepare", "model"),
            "prepared": magika.out("prepare", "model"),
            "names": magika.out("prepare", "names"),
            "samples": magika.folder / "samples",
        },
        outputs=("layers",),
    )
    found = json.loads((tmp_path / "run/out/layers/layers.json").read_text(encoding="utf-8"))
    first = found["layers"][found["first_bad"]]

    assert first["node"].endswith("LayerNorm_1/Sum_1")
    assert first["operator"] == "ReduceSum"
    assert first["remark"].endswith("is beyond the fp16 range of ±65504")
