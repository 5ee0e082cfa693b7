"""What the operator atlas saw refused: operator, types, HTP generation."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("refusals.json")
"""Beside a module of its name, so that the keys contain it."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One operator in one form; `archs` are the generations that refuse it."""

    archs: tuple[int, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Refusals:
    archs: tuple[int, ...]  # all that were tried
    rows: Mapping[str, Mapping[str, Refusal]]  # "ai.onnx:Neg" → "i32" →

    def of(self, operator: str, form: str, archs: Sequence[int]) -> Refusal | None:
        """Where it stays on the CPU of `archs`: the refusal, if all of them or some refuse."""
        row = self.rows.get(operator, {}).get(form)
        return row if row is not None and set(row.archs) & set(archs) else None

    def first_that_takes(self, operator: str, form: str) -> int | None:
        """The generation from which on none refuses; None when that is all or none."""
        row = self.rows.get(operator, {}).get(form)
        if row is None or self.archs[-1] in row.archs:
            return None
        return next(arch for arch in self.archs if arch > max(row.archs))


@functools.cache
def refusals() -> Refusals:
    told = json.loads(TABLE.read_text(encoding="utf-8"))
    return Refusals(
        archs=tuple(told["archs"]),
        rows={
            name: {
                form: Refusal(archs=tuple(row["archs"]), why=row["why"])
                for form, row in forms.items()
            }
            for name, forms in told["operators"].items()
        },
    )
