"""Patterns of nodes that must be one node before they are quantized.

The plugin fuses them in float models only; each part of them in 8 bits would lose too much, and
of some parts (Erf) there is no quantized form at all. The fusions are onnxruntime's own; the rest
of its `qnn_preprocess_model` is done by prepare, and raises TypeError on models with metadata.
"""

from __future__ import annotations

from onnx import ModelProto
from onnxruntime.quantization.execution_providers.qnn.fusion_lpnorm import FusionLpNormalization
from onnxruntime.quantization.execution_providers.qnn.fusion_spacetodepth import FusionSpaceToDepth
from onnxruntime.quantization.fusions import FusionGelu, FusionLayerNormalization
from onnxruntime.quantization.onnx_model import ONNXModel

from qnnbuild.work.names import name_nodes, sort_nodes
from qnnbuild.work.versions import complete_imports, opset_of

LAYERNORM_SINCE = 17


def fuse(model: ModelProto) -> None:
    """GELU, LpNormalization, SpaceToDepth and, where the opset has it, LayerNormalization."""
    wrapped = ONNXModel(model)
    FusionGelu(wrapped).apply()
    FusionLpNormalization(wrapped).apply()
    FusionSpaceToDepth(wrapped).apply()
    if opset_of(model) >= LAYERNORM_SINCE:
        FusionLayerNormalization(wrapped).apply()
    wrapped.clean_initializers()
    complete_imports(model)
    sort_nodes(model)
    name_nodes(model)
