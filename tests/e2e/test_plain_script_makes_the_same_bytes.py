"""A script of fifteen lines, run by hand in the model's folder, makes what the build makes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest

from qnnbuild.engine.workers import FIXED_ENV, Workers
from tests.e2e.compiling import CHIPS, WARM, compiled
from tests.models import tiny_conv, tiny_qdq, two_branch

SCRIPT = """
import onnxruntime, onnxruntime_qnn

name = "QNNExecutionProvider"
onnxruntime.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
session = onnxruntime.SessionOptions()
session.add_session_config_entry("ep.context_enable", "1")
session.add_session_config_entry("ep.context_file_path", "vad_ctx.onnx")
session.add_session_config_entry("ep.context_embed_mode", "0")
session.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
options = {"backend_type": "htp", "soc_model": "SOC_MODEL"}
session.add_provider_for_devices(devices, options)
onnxruntime.InferenceSession("model.onnx", session)
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    shared = Workers(warm=WARM, path=sys.path)
    yield shared
    shared.close()


def by_hand(folder: Path, model: onnx.ModelProto, soc_model: int) -> dict[str, bytes]:
    folder.mkdir()
    onnx.save(model, str(folder / "model.onnx"))
    script = SCRIPT.replace("SOC_MODEL", str(soc_model))
    subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=FIXED_ENV, check=True, capture_output=True
    )
    return {path.name: path.read_bytes() for path in sorted(folder.glob("vad_ctx*"))}


@pytest.mark.parametrize(
    ("model", "precision", "chip"),
    [
        (tiny_conv, "fp16", "SM8750"),
        (two_branch, "fp16", "SM8550"),
        (tiny_qdq, "qdq", "SM8850"),
        (tiny_qdq, "qdq", "QCS6490"),
    ],
)
def test_a_plain_script_makes_the_same_bytes(
    workers: Workers,
    tmp_path: Path,
    model: Callable[[], onnx.ModelProto],
    precision: str,
    chip: str,
):
    built = compiled(workers, tmp_path / "built", model(), chip, precision=precision)

    assert built.files == by_hand(tmp_path / "by hand", model(), CHIPS[chip].soc_model)
