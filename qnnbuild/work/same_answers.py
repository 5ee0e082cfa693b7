"""One and the same input for a graph compiled alone and with others: the answers have to be equal.

They were equal to the last bit on all graphs that were tried (onnxruntime-qnn 2.7.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.tensor import TensorFacts
from qnnbuild.work.context_ort import device, fallback
from qnnbuild.work.ort_session import Wanted, create
from qnnbuild.work.read_back import not_good

SEED = 0


def answer_alone(
    folder: Path, ctx_name: str, params: Mapping[str, Any], to: Path, stem: str
) -> None:
    """Run what was compiled alone; what it is fed and what it answers is kept in `to`."""
    facts = read_any(folder / ctx_name)
    assert isinstance(facts, CtxOnnxFacts)  # it was read back
    chance = np.random.default_rng(SEED)
    np.savez(to / _feeds(stem), *(_array(one, chance) for one in facts.onnx.inputs))
    alone = Wanted(
        folder=folder,
        model=ctx_name,
        options=device(params),
        entries=fallback(params),
        feeds=str((to / _feeds(stem)).absolute()),
        answers=str((to / f"{stem}-alone.npz").absolute()),
    )
    outcome = create(alone, Path("alone.log"))
    if not outcome.created:
        said = outcome.crash or " ".join((outcome.error or "").split())[:300]
        raise not_good(f"'{stem}' does not run as compiled alone", facts=[("the tool says", said)])


def asked(wanted: Wanted, stem: str) -> Wanted:
    """`wanted` with the same input, which its folder has."""
    return replace(wanted, feeds=_feeds(stem), answers=f"{stem}-together.npz")


def check_same_answers(folder: Path, stem: str) -> None:
    """Bit by bit, and a NaN is one like another."""
    alone, together = (_answers(folder / f"{stem}-{how}.npz") for how in ("alone", "together"))
    for one, other in zip(alone, together, strict=True):
        if not np.array_equal(one, other, equal_nan=_floats(one)):
            wrong = int(np.sum(one != other))
            raise not_good(
                f"'{stem}' answers otherwise with others in one binary than alone",
                facts=[("numbers that differ", f"{wrong} of {one.size}")],
            )


def _answers(path: Path) -> list[np.ndarray[Any, Any]]:
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def _feeds(stem: str) -> str:
    return f"{stem}-feeds.npz"


def _floats(array: np.ndarray[Any, Any]) -> bool:
    return bool(np.issubdtype(array.dtype, np.floating))


def _array(one: TensorFacts, chance: np.random.Generator) -> np.ndarray[Any, Any]:
    """Whole numbers may be places in a table, and only 0 is one in each."""
    shape = [int(size) for size in one.shape]
    if one.dtype.startswith("float"):
        return chance.standard_normal(shape).astype(one.dtype)
    return np.zeros(shape, one.dtype)
