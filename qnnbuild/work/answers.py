"""What a binary answered, held against what is known: alike for all toolchains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.work.arrays import array_files
from qnnbuild.work.npz import read_npz
from qnnbuild.work.numbers import compare_folders
from qnnbuild.work.read_back import not_good
from qnnbuild.work.reference import RECORDED
from qnnbuild.work.run import Run


def compared(run: Run, said: Mapping[str, Any]) -> dict[str, Any]:
    """Output "outputs" against inputs "reference" and "recorded"; `said` is reference.json."""
    kinds, answers = said["outputs"], run.outputs["outputs"]
    found: dict[str, Any] = {
        "samples": len(array_files(answers)),
        "compared_with": said["compared_with"],
        "why_not": said["why_not"],
        "outputs": {},
    }
    if said["compared_with"] is None:
        run.warn(f"the answers are not compared: {said['why_not']}", place="verify")
        _check_finite(answers)
    elif said["why_not"] is not None:
        run.warn(f"the answers cannot be compared: {said['why_not']}", place="verify")
    elif said["compared_with"] != RECORDED:
        found["outputs"] = compare_folders(answers, run.inputs["reference"], kinds)
        _check_all(found["outputs"], kinds, run.inputs["reference"])
    if "recorded" in run.inputs:
        found["recorded"] = compare_folders(answers, run.inputs["recorded"], kinds)
    return found


def _check_finite(answers: Path) -> None:
    """All that can be said of answers that nothing is known of."""
    for file in array_files(answers):
        for name, array in read_npz(file).items():
            if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
                raise not_good(f"output '{name}' is not finite", facts=[("sample", file.stem)])


def _check_all(found: Mapping[str, Any], kinds: Mapping[str, Any], references: Path) -> None:
    """No output is left out silently, and there was something to compare."""
    missing = [name for name in kinds if name not in found]
    if missing or not array_files(references):
        raise not_good(f"the binary has no output '{', '.join(missing)}', which the original has")
