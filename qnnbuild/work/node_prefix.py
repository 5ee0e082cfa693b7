"""The names of a ctx.onnx's EPContext nodes begin as the recipe wants it.

`ep.context_node_name_prefix` is the runtime's option for that; the plugin takes it and does nothing
with it (onnxruntime-qnn 2.7.0). The name of such a node is free: what it stands for is found by its
`partition_name`. Who puts several ctx.onnx into one model needs names that differ.
"""

from __future__ import annotations

from pathlib import Path

import onnx

NODE_PREFIX = "ep.context_node_name_prefix"


def prefix_nodes(ctx_path: Path, prefix: str) -> None:
    """Names that begin so already stay: a plugin that heeds its option has done it."""
    if not prefix or not ctx_path.is_file():
        return
    model = onnx.load(str(ctx_path), load_external_data=False)
    for node in model.graph.node:
        if node.op_type == "EPContext" and not node.name.startswith(prefix):
            node.name = f"{prefix}{node.name}"
    ctx_path.write_bytes(model.SerializeToString(deterministic=True))
