"""convert for the toolchain `ort`: the model goes on as it is, once it is what the recipe says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import read_model
from qnnbuild.work.run import Run, WorkError

QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")


def convert(run: Run) -> None:
    """Input "model" → output "model". `params`: {quantized: the recipe says precision: qdq}."""
    path = run.inputs["model"] / "model.onnx"
    _, nodes = read_model(mapped(path))
    # Microsoft's domain has its own, for 16 bits below opset 21
    quantizers = sum(node.op.rpartition(":")[2] in QUANTIZERS for node in nodes)
    if run.params["quantized"]:
        _check_quantized(quantizers)
        for wrong in _bad_scales(onnx.load(str(path), load_external_data=False)):
            raise wrong
    elif quantizers:
        raise WorkError(
            "the model is quantized already",
            place="precision",
            facts=[("it has", f"{quantizers} QuantizeLinear or DequantizeLinear")],
            hint="precision: qdq",
        )
    for path in sorted(run.inputs["model"].rglob("*")):
        if path.is_file():
            target = run.outputs["model"] / path.relative_to(run.inputs["model"])
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)


def _check_quantized(quantizers: int) -> None:
    if not quantizers:
        raise WorkError(
            "precision is qdq, but the model is not quantized",
            place="precision",
            facts=[("it has", "no QuantizeLinear and no DequantizeLinear")],
            hint="precision: fp16, or a model that is quantized in the QDQ form",
        )


def _bad_scales(model: onnx.ModelProto) -> Iterator[WorkError]:
    """The compiler takes a scale of 0 or NaN and computes garbage with it."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type not in QUANTIZERS or len(node.input) < 2:
            continue
        tensor = stored.get(node.input[1])
        if tensor is None or tensor.data_location == onnx.TensorProto.EXTERNAL:
            continue
        scales = numpy_helper.to_array(tensor).astype(np.float64)
        bad = scales[~(np.isfinite(scales) & (scales > 0))]
        if bad.size:
            yield WorkError(
                f"a scale of '{node.name or node.output[0]}' is {bad.flat[0]:g}",
                facts=[("operator", node.op_type), ("scale", node.input[1])],
                hint="quantize again with calibration data that are not all the same",
            )
