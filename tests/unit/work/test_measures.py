"""Distances between answers and what was expected, against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qnnbuild.work.measures import EQUAL_DB, Sums, as_json, compare_arrays, total

B = np.array([[3.0, 4.0, 0.0]], np.float32)


def test_an_error_is_measured_in_four_ways() -> None:
    told = compare_arrays(B + np.float32(0.5), B)

    assert told.sqnr_db == pytest.approx(10 * math.log10(25 / 0.75))
    assert told.max_abs == 0.5
    assert told.max_rel == 0.5 / 4
    assert told.cosine == pytest.approx((10.5 + 18) / (5 * math.sqrt(3.5**2 + 4.5**2 + 0.25)))
    assert told.differing == 3


def test_sums_of_samples_are_those_of_one_long_sample() -> None:
    random = np.random.default_rng(1)
    answers, references = random.standard_normal((2, 6, 8))
    apart = total(compare_arrays(a, b) for a, b in zip(answers, references, strict=True))
    whole = compare_arrays(answers, references)

    assert apart.samples == 6
    assert apart.sqnr_db == pytest.approx(whole.sqnr_db)
    assert apart.cosine == pytest.approx(whole.cosine)
    assert apart.max_abs == whole.max_abs
    assert apart.agreement == pytest.approx(whole.agreement)


def test_equal_answers_have_no_noise() -> None:
    told = compare_arrays(B, B)

    assert (told.sqnr_db, told.cosine, told.max_abs, told.differing) == (EQUAL_DB, 1.0, 0.0, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_lost_makes_all_of_it_bad(bad: float) -> None:
    told = compare_arrays(np.array([[3.0, bad, 0.0]]), B)

    assert told.lost == 1
    assert told.sqnr_db == -EQUAL_DB
    assert as_json(told)["not_finite"] == 1


def test_where_the_reference_is_infinite_nothing_is_judged() -> None:
    reference = np.array([1.0, -np.inf, np.nan])
    told = compare_arrays(np.array([1.0, -65504.0, 2.0]), reference)

    assert (told.lost, told.not_finite, told.sqnr_db) == (0, 2, EQUAL_DB)


def test_noise_over_a_silent_reference_is_as_bad_as_can_be() -> None:
    told = compare_arrays(np.array([0.1, 0.0]), np.zeros(2))

    assert told.sqnr_db == -EQUAL_DB
    assert told.cosine == 0.0


def test_the_best_class_is_looked_for_among_the_best_k() -> None:
    references = np.array([[0.0, 9.0, 1.0, 0.0], [5.0, 1.0, 2.0, 0.0]], np.float32)
    answers = np.array([[0.0, 8.0, 1.0, 0.0], [4.0, 1.0, 5.0, 6.0]], np.float32)
    told = compare_arrays(answers, references, name="logits")

    assert told.agreement[:4] == (0.5, 0.5, 1.0, 1.0)
    assert told.likely_scores


def test_an_answer_without_a_choice_agrees_with_nothing() -> None:
    told = compare_arrays(np.full((1, 4), 0.25), np.array([[0.7, 0.1, 0.1, 0.1]]))

    assert told.agreement == (0.0,) * 10


def test_of_classes_with_equal_scores_the_first_is_the_answer() -> None:
    """8 bits give many classes one score; who takes the best one gets the first."""
    tied = np.array([[0.5, 0.5, 0.0]])
    first = compare_arrays(tied, np.array([[0.6, 0.4, 0.0]]))
    second = compare_arrays(tied, np.array([[0.4, 0.6, 0.0]]))

    assert first.agreement[:2] == (1.0, 1.0)
    assert second.agreement[:2] == (0.0, 1.0)


def test_rows_that_add_up_to_one_look_like_classes_and_others_do_not() -> None:
    shares = compare_arrays(B, np.array([[0.2, 0.5, 0.3]]))
    sound = compare_arrays(B, B, name="waveform")

    assert shares.likely_scores
    assert not sound.likely_scores


def test_pictures_have_no_classes() -> None:
    picture = np.ones((1, 3, 8, 8), np.float32)

    assert compare_arrays(picture, picture).agreement == ()


def test_whole_numbers_tell_only_what_differs() -> None:
    told = as_json(compare_arrays(np.array([1, 2, 3]), np.array([1, 5, 3])), exact=True)

    assert told == {"elements": 3, "differing": 1, "max_abs": 3.0}


def test_nothing_at_all_is_no_error() -> None:
    empty = np.zeros((0, 3))

    assert compare_arrays(empty, empty).sqnr_db == EQUAL_DB
    assert Sums().agreement == ()
