"""What prepare says of the files that no recipe helps."""

from __future__ import annotations

HOPELESS = {
    "custom_domain": "nobody knows the operator 'Frobnicate' of domain 'com.example'",
    "empty_graph": "the graph has no nodes",
    "ir_future": "the model has IR 99, newest is 14",
    "opset_old": "the model has opset 6, the oldest that works is 7",
    "tree_ext_missing": "side file 'm.data' is missing",
    "tree_ext_empty": "side file 'm.data' is cut short: 0 of 896 bytes",
    "tree_ext_absolute": "the model names its side file by an absolute path: '/models/m.data'",
    "tree_ext_backslash": "the side file's name has a backslash: 'data\\m.data'",
    "tree_cut_model": "'model.onnx' is not a whole ONNX file",
    "tree_zero_bytes": "'model.onnx' is an empty file",
    "tree_lfs_pointer": "'model.onnx' is a Git LFS pointer, not the model",
}
