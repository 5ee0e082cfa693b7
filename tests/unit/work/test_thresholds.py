"""Where ranges are cut: by a share of the values, or where clipping loses least."""

from __future__ import annotations

import numpy as np
import pytest
from onnxruntime.quantization.calibrate import HistogramCollector

from qnnbuild.work.thresholds import by_entropy, by_percentile


def test_a_percentile_of_100_cuts_nothing():
    counts = np.array([1, 0, 5, 0, 1])

    assert by_percentile(counts, -1.0, 4.0, 100.0) == (-1.0, 4.0)


def test_half_of_what_may_be_lost_is_cut_on_each_side():
    counts = np.full(1000, 10)

    assert by_percentile(counts, 0.0, 1000.0, 98.0) == (10.0, 990.0)


def test_a_bin_that_is_cut_through_is_kept():
    assert by_percentile(np.array([1, 98, 1]), 0.0, 3.0, 99.0) == (0.0, 3.0)


def test_without_values_the_range_stays():
    assert by_percentile(np.zeros(8, np.int64), 2.0, 3.0, 99.0) == (2.0, 3.0)


def normal(outlier: float | None = None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.random.default_rng(3).standard_normal(100_000)
    return values if outlier is None else np.append(values, outlier)


def test_entropy_cuts_an_outlier_away():
    values = np.abs(normal(outlier=60.0))
    cut = by_entropy(np.histogram(values, 2048, (0, 60.0))[0], 60.0)

    assert 3.0 < cut < 6.0


def test_entropy_agrees_with_onnxruntimes_where_that_has_enough_bins():
    values = normal()
    peak = float(np.abs(values).max())
    cut = by_entropy(np.histogram(np.abs(values), 2048, (0, peak))[0], peak)
    theirs = HistogramCollector("entropy", False, 1024, 128, None, None)
    counts, edges = np.histogram(values, 1024, (-peak, peak))
    low, high = theirs.get_entropy_threshold(
        (counts, edges.astype(np.float32), np.float32(values.min()), np.float32(values.max())), 128
    )

    assert cut == pytest.approx(float(max(-low, high)), rel=0.1)


def test_the_zeros_of_a_relu_do_not_decide():
    values = np.maximum(normal(), 0)
    peak = float(values.max())

    assert by_entropy(np.histogram(values, 2048, (0, peak))[0], peak) > 0.7 * peak


def test_entropy_leaves_a_tensor_of_zeros():
    counts = np.zeros(2048, np.int64)
    counts[0] = 99

    assert by_entropy(counts, 1.0) == 1.0


def test_entropy_leaves_what_too_few_values_were_seen_of():
    values = np.abs(normal()[:500])

    assert by_entropy(np.histogram(values, 2048, (0, 9.0))[0], 9.0) == 9.0
