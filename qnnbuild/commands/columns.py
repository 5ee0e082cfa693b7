"""Rows of text in aligned columns, for people and for a pipe alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from qnnbuild.digest import Json
from qnnbuild.text.render import clean


def print_rows(rows: Iterable[Sequence[str]], head: Sequence[str] | None = None) -> None:
    print(aligned(rows, head), end="")


def aligned(rows: Iterable[Sequence[str]], head: Sequence[str] | None = None) -> str:
    """Each column as wide as its widest cell; the last one as it comes."""
    lines = [*([head] if head else []), *rows]
    all_rows = [[" ".join(cell.splitlines()) for cell in row] for row in lines]
    if not all_rows:
        return ""
    widths = [max(len(row[i]) for row in all_rows) for i in range(len(all_rows[0]))]
    padded = (
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in all_rows
    )
    return "".join("  ".join(cells).rstrip() + "\n" for cells in padded)


def print_json(value: Json) -> None:
    print(json_text(value), end="")


def json_text(value: Json) -> str:
    """Data is exact: what a terminal must not see is escaped, not replaced."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return (text if clean(text) == text else json.dumps(value, indent=2)) + "\n"
