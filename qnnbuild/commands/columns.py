"""Rows of text in aligned columns, for people and for a pipe alike."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from qnnbuild.digest import Json


def print_rows(rows: Iterable[Sequence[str]], head: Sequence[str] | None = None) -> None:
    """Each column as wide as its widest cell; the last one as it comes."""
    all_rows = [*([head] if head else []), *rows]
    if not all_rows:
        return
    widths = [max(len(row[i]) for row in all_rows) for i in range(len(all_rows[0]))]
    for row in all_rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())


def print_json(value: Json) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    print()
