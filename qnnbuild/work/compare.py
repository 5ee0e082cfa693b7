"""The CPU's answers of the prepared model against those of the original."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto

from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.samples import Array, Sample
from qnnbuild.work.shapes import first_line, written
from qnnbuild.work.walk import nodes

RANDOM_OPERATORS = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                    "Multinomial", "Bernoulli")  # fmt: skip

ENOUGH_DB = 60.0
"""Float32 rounding stays far above; a wrong graph stays far below."""

ENOUGH_DB_HALF = 30.0
"""For a model that computes in 16 bits, where each rounding weighs 8,000 times as much."""

MOST_DB = 100
"""From here on the difference is the CPU's own way of adding, and told as this."""

LEAST_REL = 1e-5
"""The same for the difference as a part of the output's peak."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How far an output is from the original's, at its worst sample."""

    sqnr_db: float
    max_abs: float
    peak: float  # the original's greatest magnitude
    cosine: float
    differing: float  # the share of elements that are not equal

    @property
    def max_rel(self) -> float:
        """The greatest difference as a part of the peak."""
        return self.max_abs / self.peak if self.peak > 0 else min(self.max_abs, 1.0)

    def as_json(self) -> dict[str, Any]:
        """Coarse numbers: the same on every CPU, unless something is really different.

        The exact ones are in the log; a report must be the same bytes on two machines.
        """
        up_to = _power_of_ten(max(self.max_rel, LEAST_REL))
        return {
            "sqnr_db": int(min(MOST_DB, 10 * math.floor(self.sqnr_db / 10))),
            "max_abs_up_to": _power_of_ten(up_to * self.peak),
            "max_rel_up_to": up_to,
            "cosine": round(self.cosine, 4),
        }


def _power_of_ten(number: float) -> float:
    """The next power of ten."""
    return float(f"1e{math.ceil(math.log10(number) - 1e-9)}") if number > 0 else 0.0


def why_not_comparable(model: ModelProto) -> str | None:
    """Operators that answer differently every time."""
    used = sorted({node.op_type for node in nodes(model) if node.op_type in RANDOM_OPERATORS})
    return f"it computes with random numbers ({', '.join(used)})" if used else None


def answers(
    path: Path, samples: Sequence[Sample], outputs: Sequence[str] | None = None
) -> list[list[Array]]:
    """What the model file answers on the CPU, on one thread so that sums are added in one order."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    return [
        session.run(outputs, {name: array for name, array in sample.items() if name in wanted})
        for sample in samples
    ]


def difference(ours: Array, theirs: Array) -> Difference:
    """`ours` against `theirs`, in doubles; what is not finite in the same way is equal."""
    with np.errstate(all="ignore"):
        a, b = (
            np.atleast_1d(ours).astype(np.float64).ravel(),
            np.atleast_1d(theirs).astype(np.float64).ravel(),
        )
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        error = np.where(same, 0.0, a - b)
        signal = float(np.sum(np.where(np.isfinite(b), b, 0.0) ** 2))
        noise = float(np.sum(error**2))
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        cosine = float(np.dot(a, b) / lengths) if math.isfinite(lengths) and lengths > 0 else 1.0
    if noise == 0:
        sqnr = math.inf
    elif not math.isfinite(noise) or signal == 0:
        sqnr = -math.inf
    else:
        sqnr = 10 * math.log10(signal / noise)
    return Difference(
        sqnr_db=max(-999.0, min(999.0, sqnr)),
        max_abs=_finite(np.max(np.abs(error), initial=0.0)),
        peak=float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))),
        cosine=cosine,
        differing=float(np.mean(~same)) if same.size else 0.0,
    )


def _finite(number: Any) -> float:
    return float(np.nan_to_num(number, nan=1e38, posinf=1e38))


def worst(all_: Sequence[Difference]) -> Difference:
    return Difference(
        sqnr_db=min(d.sqnr_db for d in all_),
        max_abs=max(d.max_abs for d in all_),
        peak=max(d.peak for d in all_),
        cosine=min(d.cosine for d in all_),
        differing=max(d.differing for d in all_),
    )


def judge(
    run: Run,
    names: Sequence[str],
    ours: Sequence[Sequence[Array]],
    theirs: Sequence[Sequence[Array]],
    *,
    half: bool,
) -> Mapping[str, Difference]:
    """The worst difference of each output; a WorkError when the prepared model is another model."""
    enough = ENOUGH_DB_HALF if half else ENOUGH_DB
    found: dict[str, Difference] = {}
    for index, name in enumerate(names):
        for mine, original in zip(ours, theirs, strict=True):
            if mine[index].shape != original[index].shape:
                raise WorkError(
                    f"output '{name}' has another shape than the original's",
                    place="outputs",
                    facts=[
                        ("original", written(original[index].shape)),
                        ("prepared", written(mine[index].shape)),
                    ],
                    exit_code=5,
                )
        one = worst([difference(m[index], t[index]) for m, t in zip(ours, theirs, strict=True)])
        found[name] = one
        sys.stdout.write(f"{name}: {one}\n")
        if not all(np.all(np.isfinite(t[index].astype(np.float64))) for t in theirs):
            run.warn(
                f"the original model's output '{name}' is not finite on these samples: "
                "give samples or ranges that it was trained for",
                place="inputs",
            )
        _check_close(name, one, ours[0][index].dtype.kind in "fV", enough)
    return found


def _check_close(name: str, one: Difference, is_float: bool, enough: float) -> None:
    # sums that cancel to almost nothing have no significant digits to compare
    close = one.sqnr_db >= enough or one.max_abs <= 1e-6 if is_float else one.differing <= 0.01
    if not close:
        raise WorkError(
            f"output '{name}' is not what the original model answers",
            facts=[
                ("SQNR", f"{one.sqnr_db:.1f} dB, at least {enough:.0f} wanted"),
                ("max abs error", f"{one.max_abs:.3g}"),
                ("elements that differ", f"{one.differing:.1%}"),
            ],
            hint="find the cause with simplify: false, fewer repairs:, or real samples:",
            exit_code=5,
        )


def cannot_run(error: Exception) -> WorkError:
    return WorkError(
        "ONNX Runtime cannot run the prepared model on the CPU",
        place="inputs",
        facts=[("it says", first_line(error))],
        hint="shapes, types or value ranges of the inputs may not be what the model was made for: "
        "write inputs: {x: {shape: …, range: [low, high]}}, or give samples:",
    )
