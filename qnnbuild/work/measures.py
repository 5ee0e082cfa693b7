"""How far answers are from what was expected: sums that are added up sample by sample.

With e = answer − reference, over the places where the reference is finite:

- SQNR = 10·log10(Σ reference² / Σ e²), in dB;
- max abs = max |e|; max rel = max |e| / max |reference|, so that values near 0 weigh nothing;
- cosine = Σ answer·reference / √(Σ answer² · Σ reference²).

Everything is computed in doubles, and a reference in its own type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnnbuild.work.npz import Array

EQUAL_DB = 999.0
"""Where nothing differs; and its negative where nothing can be compared: JSON has no infinity."""

MOST_K = 10
FEWEST_CLASSES = 3
MOST_DIMENSIONS_OF_SCORES = 3
SUM_TOLERANCE = 1e-2
SCORE_WORDS = ("logit", "prob", "softmax", "score", "class", "label")


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Of one output over some samples."""

    samples: int = 0
    count: int = 0
    signal: float = 0.0
    noise: float = 0.0
    answer: float = 0.0  # Σ answer²
    product: float = 0.0
    max_abs: float = 0.0
    peak: float = 0.0
    differing: int = 0
    lost: int = 0  # NaN or infinite where the reference is not
    not_finite: int = 0  # of the reference itself
    rows: int = 0  # with classes along the last axis
    ranks: tuple[int, ...] = ()  # rows whose best class came 1st, 2nd, … in the answer
    likely_scores: bool = True

    def __add__(self, other: Sums) -> Sums:
        ranks = tuple(a + b for a, b in zip(_padded(self.ranks), _padded(other.ranks), strict=True))
        return Sums(
            samples=self.samples + other.samples,
            count=self.count + other.count,
            signal=self.signal + other.signal,
            noise=self.noise + other.noise,
            answer=self.answer + other.answer,
            product=self.product + other.product,
            max_abs=max(self.max_abs, other.max_abs),
            peak=max(self.peak, other.peak),
            differing=self.differing + other.differing,
            lost=self.lost + other.lost,
            not_finite=self.not_finite + other.not_finite,
            rows=self.rows + other.rows,
            ranks=ranks,
            likely_scores=self.likely_scores and other.likely_scores,
        )

    @property
    def sqnr_db(self) -> float:
        if self.noise == 0 and not self.lost:
            return EQUAL_DB
        if self.lost or self.signal == 0 or not math.isfinite(self.noise):
            return -EQUAL_DB
        return 10 * math.log10(self.signal / self.noise)

    @property
    def cosine(self) -> float:
        if self.noise == 0 and not self.lost:
            return 1.0
        lengths = math.sqrt(self.signal) * math.sqrt(self.answer)
        return self.product / lengths if 0 < lengths < math.inf else 0.0

    @property
    def max_rel(self) -> float:
        return self.max_abs / self.peak if self.peak > 0 else self.max_abs

    @property
    def agreement(self) -> tuple[float, ...]:
        """For k = 1, 2, …: the share of rows whose best class is among the answer's best k."""
        if not self.rows:
            return ()
        return tuple(float(share) for share in np.cumsum(_padded(self.ranks)) / self.rows)


def _padded(ranks: tuple[int, ...]) -> tuple[int, ...]:
    return ranks or (0,) * MOST_K


def compare_arrays(answer: Array, reference: Array, *, name: str = "") -> Sums:
    """One sample's `answer` against its `reference`, which has the same shape."""
    with np.errstate(all="ignore"):
        a = np.atleast_1d(answer).astype(np.float64)
        b = np.atleast_1d(reference).astype(np.float64)
        judged = np.isfinite(b)
        lost = judged & ~np.isfinite(a)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        ours, theirs = a[judged & ~lost], b[judged & ~lost]
        error = ours - theirs
        ranks = _ranks(a, b) if _has_classes(reference) and judged.all() else ()
    return Sums(
        samples=1,
        count=b.size,
        signal=_sum_of_squares(b[judged]),
        noise=_sum_of_squares(error),
        answer=_sum_of_squares(ours),
        product=float(np.dot(ours, theirs)),
        max_abs=float(np.max(np.abs(error), initial=0.0)),
        peak=float(np.max(np.abs(b[judged]), initial=0.0)),
        differing=int(np.count_nonzero(~same)),
        lost=int(np.count_nonzero(lost)),
        not_finite=int(np.count_nonzero(~judged)),
        rows=sum(ranks),
        ranks=ranks[:-1],
        likely_scores=bool(ranks) and _likely_scores(reference, name),
    )


def _sum_of_squares(values: Array) -> float:
    return float(np.sum(values * values))


def _has_classes(reference: Array) -> bool:
    return (
        reference.dtype.kind == "f"
        and 1 <= reference.ndim <= MOST_DIMENSIONS_OF_SCORES
        and reference.shape[-1] >= FEWEST_CLASSES
    )


def _ranks(answer: Array, reference: Array) -> tuple[int, ...]:
    """How many rows have their best class at rank 1, …, MOST_K, and behind that.

    Of equal values the first counts as the better one, as `argmax` has it: that is what users get.
    Rows of the reference in which all values are equal have no best class and are left out.
    """
    a = answer.reshape(-1, answer.shape[-1])
    b = reference.reshape(-1, reference.shape[-1])
    said = b.max(axis=1) > b.min(axis=1)
    a, b = np.where(np.isnan(a), -np.inf, a)[said], b[said]
    chosen = b.argmax(axis=1)[:, None]
    best = np.take_along_axis(a, chosen, axis=1)
    before = np.arange(a.shape[1]) < chosen
    rank = np.count_nonzero((a > best) | ((a == best) & before), axis=1)
    # an answer that is the same for every class has chosen none
    rank[(a == best).all(axis=1)] = MOST_K
    return tuple(int(n) for n in np.bincount(np.minimum(rank, MOST_K), minlength=MOST_K + 1))


def _likely_scores(reference: Array, name: str) -> bool:
    """Rows that add up to 1, or an output that is called as scores are."""
    if any(word in name.lower() for word in SCORE_WORDS):
        return True
    rows = reference.astype(np.float64)
    sums = rows.sum(axis=-1)
    return bool(rows.min(initial=0.0) >= 0 and np.all(np.abs(sums - 1) < SUM_TOLERANCE))


def total(all_: Iterable[Sums]) -> Sums:
    found = Sums()
    for one in all_:
        found = found + one
    return found


def as_json(sums: Sums, *, exact: bool = False) -> dict[str, Any]:
    """The numbers as they are told; `exact` for whole numbers, where only equality counts."""
    told: dict[str, Any] = {"elements": sums.count, "differing": sums.differing}
    told["max_abs"] = digits(sums.max_abs)
    if exact:
        return told
    told |= {
        "sqnr_db": digits(sums.sqnr_db),
        "max_rel": digits(sums.max_rel),
        "cosine": round(sums.cosine, 8),
        "peak": digits(sums.peak),
    }
    if sums.lost or sums.not_finite:
        told |= {"not_finite": sums.lost, "not_finite_in_reference": sums.not_finite}
    if sums.rows:
        told["rows"] = sums.rows
        told["top"] = {str(k): round(share, 6) for k, share in enumerate(sums.agreement, 1)}
        told["likely_scores"] = sums.likely_scores
    return told


def digits(number: float) -> float:
    """Six significant digits: what is beyond is the order in which sums were added."""
    return float(f"{number:.6g}")
