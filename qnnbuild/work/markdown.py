"""Pieces of Markdown. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def shape_text(shape: Sequence[Any]) -> str:
    return " × ".join(map(str, shape)) or "scalar"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def code(text: str) -> str:
    """A code span, also of a text with backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"
