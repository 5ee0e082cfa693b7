"""What ships for a backend that only a device has: the ONNX file, as it is."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.work.on_device_ort import on_device
from qnnbuild.work.run import Run
from tests.models import tiny_conv


@pytest.fixture(autouse=True)
def _private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_model_and_its_side_files_ship_and_are_told():
    folders = {name: Path(name) for name in ("in", "context", "facts")}
    for folder in folders.values():
        folder.mkdir()
    onnx.save(tiny_conv(8), "in/model.onnx")
    model = Path("in/model.onnx").read_bytes()
    Path("in/weights.bin").write_bytes(b"weights")

    run = Run(
        params={"graph": "vad", "backend": "gpu"},
        inputs={"model": folders["in"]},
        outputs={"context": folders["context"], "facts": folders["facts"]},
    )
    on_device(run)
    facts = json.loads(Path("facts/vad.json").read_text())

    assert Path("context/vad.onnx").read_bytes() == model
    assert facts["files"] == {
        "vad.onnx": {"digest": digest_bytes(model), "size": len(model)},
        "weights.bin": {"digest": digest_bytes(b"weights"), "size": 7},
    }
    assert facts["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 3, 16, 16]}]
    assert facts["device_only"].startswith("the backend gpu starts on a device only")
