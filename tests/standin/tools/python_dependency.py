"""check-python-dependency: which of the pinned packages the interpreter has."""

from __future__ import annotations

from importlib import metadata

from tests.standin.tools.log import say

NEEDED = ["numpy", "onnx", "onnxruntime", "pyyaml", "protobuf"]


def main() -> int:
    missing = 0
    for name in NEEDED:
        try:
            say(f"[INFO] Found {name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing += 1
            say(f"[ERROR] Unable to import {name} using python3.")
    return 1 if missing else 0
