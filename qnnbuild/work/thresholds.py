"""Where a tensor's range is cut, from the histogram of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

Counts = np.ndarray[Any, np.dtype[np.int64]]

LEVELS = 128
"""Steps on one side of zero in 8 bits: what the entropy method compares with."""

FEW = 4
"""Fewer values a bin than this say nothing of how values are spread."""


def by_percentile(
    counts: Counts, low: float, high: float, percentile: float
) -> tuple[float, float]:
    """The range that keeps `percentile` % of the values; half of the rest is cut on each side.

    `counts` are of equal bins from `low` to `high`. A bin that is cut through is kept whole.
    """
    total = int(counts.sum())
    if total == 0 or high <= low:
        return low, high
    cut = total * (100.0 - percentile) / 200.0
    before = np.cumsum(counts)
    first = int(np.searchsorted(before, cut, side="right"))
    last = counts.size - 1 - int(np.searchsorted(np.cumsum(counts[::-1]), cut, side="right"))
    first, last = min(first, counts.size - 1), max(last, 0)
    if first > last:
        return low, high
    width = (high - low) / counts.size
    return low + first * width, low + (last + 1) * width


def by_entropy(counts: Counts, peak: float) -> float:
    """The magnitude at which clipping loses the least information in 8 bits (Kullback-Leibler).

    `counts` are of equal bins of the magnitudes from 0 to `peak`, a power of two of them. Too few
    values to tell: nothing is cut.
    """
    values = int(counts[1:].sum())
    while counts.size > 2 * LEVELS and values < FEW * counts.size:
        counts = counts.reshape(-1, 2).sum(axis=1)
    if values < FEW * counts.size:
        return peak
    # zeros are exact in every range: as many as a Relu makes would outvote all other values
    counts = np.concatenate([counts[1:2], counts[1:]])
    sizes = range(LEVELS, counts.size + 1)
    losses = [_divergence(counts, size) for size in sizes]
    return peak * sizes[int(np.argmin(losses))] / counts.size


def _divergence(counts: Counts, size: int) -> float:
    """How far the first `size` bins in LEVELS steps are from all values clipped to them."""
    kept = counts[:size].astype(np.float64)
    clipped = kept.copy()
    clipped[-1] += counts[size:].sum()
    starts = (np.arange(LEVELS) * size) // LEVELS
    filled = np.add.reduceat((kept > 0).astype(np.float64), starts)
    sums = np.add.reduceat(kept, starts)
    means = np.divide(sums, filled, out=np.zeros_like(sums), where=filled > 0)
    stepped = np.where(kept > 0, np.repeat(means, np.diff(np.append(starts, size))), 0.0)
    if stepped.sum() == 0:
        return float("inf")
    p, q = clipped / clipped.sum(), stepped / stepped.sum()
    used = p > 0
    # a value that no step stands for costs much, but not everything
    floor = 1e-4 / clipped.sum()
    return float(np.sum(p[used] * np.log(p[used] / np.maximum(q[used], floor))))
