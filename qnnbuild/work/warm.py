"""What the warm server does once, before it forks the children that do the actions' work."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "onnx",
    "onnxruntime",
    "onnxsim",
    "qnnbuild.work.bundle",
    "qnnbuild.work.context_ort",
    "qnnbuild.work.convert_ort",
    "qnnbuild.work.fetch",
    "qnnbuild.work.prepare",
    "qnnbuild.work.quantize_ort",
    "qnnbuild.work.verdict",
    "qnnbuild.work.verify_ort",
    "qnnbuild.work.reference",
)
"""Importing all of them takes about a second, once instead of for each action."""


def warm() -> None:
    """Import what actions need. Compiles come from the press, so nothing here can change them."""
    for name in MODULES:
        import_module(name)
