"""What is told of a quantized model: what each tensor got, and how far it is from the float one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from qnnbuild.work.calibration import Range
from qnnbuild.work.compare import (
    Difference,
    answers,
    cannot_run,
    difference,
    why_not_comparable,
    worst,
)
from qnnbuild.work.feeds import read_feeds
from qnnbuild.work.onnx_files import read
from qnnbuild.work.qdq import described, nodes_by_width, operators_by_width
from qnnbuild.work.run import Run
from qnnbuild.work.samples import samples_for

MOST_COMPARED = 4
"""Samples on which the QDQ model is compared with the float one; the first ones."""

MOST_TOLD = 5

WIDE_RANGE = 65504.0
"""A range beyond is a mask's or a bug's: one step of it is more than all other values."""


def tell_ranges(run: Run, seen: Mapping[str, Range]) -> None:
    """Ranges that make a tensor worthless: nothing but zeros, or far beyond all use."""
    still = [name for name, one in seen.items() if one.least == one.most == 0]
    if still:
        run.warn(
            f"0 in every calibration sample, so that the range is made up: {_listed(still)}",
            place="calibration",
        )
    for name, one in seen.items():
        peak = max(abs(one.low), abs(one.high))
        if peak > WIDE_RANGE:
            run.warn(
                f"the tensor '{name}' reaches {peak:.3g}: its steps are too wide for other "
                f"values; overrides: {{{name}: {{rmin: …, rmax: …}}}}, or float: for its node",
                place="calibration",
            )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else ""
    return ", ".join(f"'{name}'" for name in names[:MOST_TOLD]) + more


def compare(
    run: Run, before: Path, after: Path, files: Sequence[Path]
) -> dict[str, Difference] | str:
    """Each output's difference at its worst sample, or why there is none."""
    model = read(before)
    why = why_not_comparable(model)
    if why is not None:
        return why
    names = [value.name for value in model.graph.output]
    inputs = [value.name for value in model.graph.input]
    samples = list(read_feeds(files[:MOST_COMPARED], inputs)) or samples_for(model, None, {})
    try:
        theirs = answers(before, samples, names)
    except Exception as error:  # noqa: BLE001  # the runtime's own classes are private
        raise cannot_run(error) from None
    try:
        ours = answers(after, samples, names)
    except Exception as error:  # noqa: BLE001
        run.warn(f"the CPU does not run the quantized model: {error}", place="precision")
        return "the CPU does not run the quantized model"
    found: dict[str, Difference] = {}
    for index, name in enumerate(names):
        pairs = zip(ours, theirs, strict=True)
        found[name] = worst([difference(a[index], b[index]) for a, b in pairs])
        sys.stdout.write(f"{name}: {found[name]}\n")
        if not all(np.all(np.isfinite(a[index].astype(np.float64))) for a in ours):
            run.warn(f"the quantized model's output '{name}' is not finite", place="precision")
    return found


def report(
    model: ModelProto,
    users: Mapping[str, str],
    *,
    cut: Mapping[str, float],
    compared: Mapping[str, Difference] | str,
    blocks: int,
) -> dict[str, Any]:
    """quantization.json, without what only the caller knows."""
    widths = nodes_by_width(model)
    return {
        "tensors": described(model),
        "operators": operators_by_width(model),
        "nodes": {width: len(names) for width, names in widths.items()},
        "float_nodes": [users.get(name, name) for name in widths.get("float", [])],
        "cut_weights": {name: float(f"{share:.2g}") for name, share in sorted(cut.items())},
        "weights_quantized_before": blocks,
        "compared": compared
        if isinstance(compared, str)
        else {name: one.as_json() for name, one in compared.items()},
    }
