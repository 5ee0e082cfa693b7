"""The packed sample files, and what ONNX Runtime writes around them."""

from __future__ import annotations

import gzip
from pathlib import Path

from onnx import TensorProto, helper

DATA = Path(__file__).parent / "data"


def sample(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.gz").read_bytes())


def ctx_onnx(*, binary: bytes | str, partition: str, soc_model: int = 69) -> bytes:
    """A ctx.onnx as the plugin writes it; `binary` is a file's name, or the binary itself."""
    node = helper.make_node(
        "EPContext",
        ["x", "x2"],
        ["y", "y2"],
        name=partition,
        domain="com.microsoft",
        main_context=1,
        ep_cache_context=binary,
        embed_mode=int(isinstance(binary, bytes)),
        ep_sdk_version="v2.51.0.260929181845",
        partition_name=partition,
        source="QNNExecutionProvider",
        is_multi_soc_ep_context=0,
    )
    shapes = {"x": [1, 3, 16, 16], "x2": [1, 8, 16, 16], "y": [1, 8, 16, 16], "y2": [1, 8, 16, 16]}
    border = {
        name: helper.make_tensor_value_info(name, TensorProto.UINT8, shape)
        for name, shape in shapes.items()
    }
    graph = helper.make_graph(
        [node], "quant", [border["x"], border["x2"]], [border["y"], border["y2"]]
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
    )
    entry = model.metadata_props.add()
    entry.key = "ep_compatibility_info.QNNExecutionProvider"
    entry.value = f"v2:6:2.51.0:5.51.0:0:{soc_model}:0:0"
    return bytes(model.SerializeToString(deterministic=True))


ONE_GRAPH = "QNNExecutionProvider_QNNExecutionProvider_12911930378484199746_1_0"
