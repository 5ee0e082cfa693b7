"""Names that the converter makes of other names."""

from __future__ import annotations

import re


def graph_name(stem: str) -> str:
    """`encoder-10-seconds` is encoder_10_seconds, `ElementwiseAdd` is elementwise_add."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", stem)
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", plain).lower()


def tensor_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def function_prefix(stem: str, *, overwrite: bool) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", stem) if overwrite else "QnnModel"
