"""Answers of two folders of samples against each other, output by output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.work.arrays import array_files
from qnnbuild.work.measures import Sums, as_json, compare_arrays, total
from qnnbuild.work.npz import Array, read_npz
from qnnbuild.work.run import WorkError

Kind = Mapping[str, Any]
"""{"kind": "float"}, "exact", or "quantized" with its scale and zero_point."""


def compare_folders(
    answers: Path, references: Path, kinds: Mapping[str, Kind]
) -> dict[str, dict[str, Any]]:
    """Output → its kind, numbers over all samples, the worst sample, and each sample.

    Of the outputs only those that both folders have; the worst is the one with the lowest SQNR.
    """
    sums: dict[str, dict[str, Sums]] = {}
    for file in array_files(references):
        ours = read_npz(answers / file.name)
        theirs = read_npz(file)
        for name in theirs.keys() & ours.keys() & kinds.keys():
            _check_shape(name, ours[name], theirs[name])
            one = compare_arrays(
                meant(ours[name], kinds[name]), meant(theirs[name], kinds[name]), name=name
            )
            sums.setdefault(name, {})[file.stem] = one
    return {name: _told(sums[name], kinds[name]) for name in kinds if name in sums}


def meant(array: Array, kind: Kind) -> Array:
    """The numbers that a quantized output stands for; others as they are."""
    if kind["kind"] != "quantized":
        return array
    numbers: Array = (array.astype(np.float64) - kind["zero_point"]) * kind["scale"]
    return numbers


def _check_shape(name: str, ours: Array, theirs: Array) -> None:
    if ours.shape != theirs.shape:
        raise WorkError(
            f"output '{name}' has another shape than the original's",
            place="verify",
            facts=[("original", str(list(theirs.shape))), ("this one", str(list(ours.shape)))],
            hint="its size depends on the numbers, and rounding changes it: keep what stands "
            "before it with outputs:",
            exit_code=5,
        )


def _told(by_sample: Mapping[str, Sums], kind: Kind) -> dict[str, Any]:
    exact = kind["kind"] == "exact"

    def badness(sample: str) -> tuple[float, float]:
        one = by_sample[sample]
        return (one.differing, one.max_abs) if exact else (-one.sqnr_db, one.max_abs)

    worst = max(by_sample, key=badness)
    return {
        "kind": kind["kind"],
        "all": as_json(total(by_sample.values()), exact=exact),
        "worst": {"sample": worst, **as_json(by_sample[worst], exact=exact)},
        "samples": {sample: _brief(one, exact=exact) for sample, one in by_sample.items()},
    }


def _brief(one: Sums, *, exact: bool) -> dict[str, Any]:
    told = as_json(one, exact=exact)
    kept = ("differing", "max_abs") if exact else ("sqnr_db", "max_abs", "cosine", "not_finite")
    return {name: told[name] for name in kept if name in told}
