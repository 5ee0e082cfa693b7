"""convert: a float model and a QDQ model go on as they are, and neither passes for the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from qnnbuild.work.convert_ort import QUANTIZERS, convert
from qnnbuild.work.run import Run, WorkError
from tests.models import scale_model, tiny_qdq, write_with_side_file


def run(folder: Path, model: onnx.ModelProto | None, *, quantized: bool) -> Run:
    taken, made = folder / "in/model", folder / "out/model"
    taken.mkdir(parents=True)
    made.mkdir(parents=True)
    if model is None:
        write_with_side_file(taken, "model.onnx", "model.data")
    else:
        onnx.save(model, str(taken / "model.onnx"))
    return Run(params={"quantized": quantized}, inputs={"model": taken}, outputs={"model": made})


def test_a_float_model_goes_on_byte_for_byte(tmp_path: Path):
    work = run(tmp_path, None, quantized=False)
    before = {path.name: path.read_bytes() for path in work.inputs["model"].iterdir()}
    convert(work)

    assert {p.name: p.read_bytes() for p in work.outputs["model"].iterdir()} == before
    assert sorted(before) == ["model.data", "model.onnx"]


def test_a_quantized_model_goes_on_byte_for_byte(tmp_path: Path):
    work = run(tmp_path, tiny_qdq(), quantized=True)
    before = (work.inputs["model"] / "model.onnx").read_bytes()
    convert(work)

    assert (work.outputs["model"] / "model.onnx").read_bytes() == before


def test_a_quantized_model_is_no_float_model(tmp_path: Path):
    with pytest.raises(WorkError) as caught:
        convert(run(tmp_path, tiny_qdq(), quantized=False))

    assert (caught.value.message, caught.value.place) == (
        "the model is quantized already",
        "precision",
    )
    assert caught.value.hint == "precision: qdq"


def test_quantizers_of_another_domain_count(tmp_path: Path):
    """ONNX Runtime's quantizer writes Microsoft's for 16 bits below opset 21."""
    model = tiny_qdq()
    for node in model.graph.node:
        if node.op_type in QUANTIZERS:
            node.domain = "com.microsoft"
    model.opset_import.add(domain="com.microsoft", version=1)
    convert(run(tmp_path / "qdq", model, quantized=True))

    with pytest.raises(WorkError, match="the model is quantized already"):
        convert(run(tmp_path / "fp16", model, quantized=False))


def test_a_float_model_is_no_quantized_model(tmp_path: Path):
    with pytest.raises(WorkError) as caught:
        convert(run(tmp_path, scale_model(), quantized=True))

    assert (caught.value.message, caught.value.place) == (
        "precision is qdq, but the model is not quantized",
        "precision",
    )


@pytest.mark.parametrize(("scale", "text"), [(0.0, "0"), (float("nan"), "nan"), (-1.0, "-1")])
def test_a_scale_that_computes_garbage_is_refused(tmp_path: Path, scale: float, text: str):
    model = tiny_qdq()
    for tensor in model.graph.initializer:
        if tensor.name == "x_scale":
            tensor.CopyFrom(numpy_helper.from_array(np.array(scale, np.float32), "x_scale"))
    with pytest.raises(WorkError) as caught:
        convert(run(tmp_path, model, quantized=True))

    assert caught.value.message == f"a scale of 'x_dequantize' is {text}"
