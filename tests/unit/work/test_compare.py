"""How far answers are apart, and when that is too far."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.work.compare import difference, judge, why_not_comparable
from qnnbuild.work.run import Run, WorkError
from tests.graphs import model

Y = np.asarray([1.0, -2.0, 3.0], np.float32)


def run() -> Run:
    return Run(params={}, inputs={}, outputs={})


def test_equal_answers_are_told_as_equal() -> None:
    assert difference(Y, Y).as_json() == {
        "sqnr_db": 100,
        "max_abs_up_to": 1e-4,
        "max_rel_up_to": 1e-5,
        "cosine": 1.0,
    }


def test_the_order_in_which_a_cpu_adds_does_not_show() -> None:
    almost = np.nextafter(Y, np.float32(9))

    assert difference(almost, Y).as_json() == difference(Y, Y).as_json()


def test_real_differences_show_in_steps() -> None:
    assert difference(Y * 1.05, Y).as_json() == {
        "sqnr_db": 20,
        "max_abs_up_to": 1.0,
        "max_rel_up_to": 0.1,
        "cosine": 1.0,
    }


def test_a_tenth_of_noise_is_twenty_decibels() -> None:
    assert round(difference(Y * 1.1, Y).sqnr_db, 3) == 20


def test_what_is_not_finite_in_the_same_way_is_equal() -> None:
    strange = np.asarray([np.nan, np.inf, -np.inf, 1.0])

    assert difference(strange, strange).differing == 0


def test_an_infinity_against_a_number_is_no_match() -> None:
    assert difference(np.asarray([np.inf]), np.asarray([1.0])).sqnr_db == -999


def test_other_numbers_are_refused() -> None:
    with pytest.raises(WorkError) as caught:
        judge(run(), ["y"], [[Y * 1.1]], [[Y]], half=False)

    assert caught.value.message == "output 'y' is not what the original model answers"
    assert caught.value.exit_code == 5
    assert caught.value.facts[0] == ("SQNR", "20.0 dB, at least 60 wanted")


def test_another_shape_is_refused() -> None:
    with pytest.raises(WorkError) as caught:
        judge(run(), ["y"], [[Y.reshape(1, 3)]], [[Y]], half=False)

    assert caught.value.message == "output 'y' has another shape than the original's"


def test_rounding_to_few_bits_is_allowed_to_differ_more() -> None:
    found = judge(run(), ["y"], [[Y * 1.01]], [[Y]], half=True)

    assert found["y"].as_json()["sqnr_db"] == 40


def test_indices_may_differ_in_one_of_a_hundred() -> None:
    ids = np.arange(200)
    other = ids.copy()
    other[7] = 100

    assert judge(run(), ["y"], [[other]], [[ids]], half=False)["y"].differing == 0.005


def test_an_original_that_is_not_finite_is_told() -> None:
    here = run()
    answer = np.asarray([np.nan], np.float32)
    judge(here, ["y"], [[answer]], [[answer]], half=False)

    assert here.warnings[0].message == (
        "the original model's output 'y' is not finite on these samples: "
        "give samples or ranges that it was trained for"
    )


def test_random_operators_cannot_be_compared() -> None:
    made = model("g (float[4] x) => (float[4] y) { r = RandomNormalLike (x) y = Add (x, r) }")

    assert why_not_comparable(made) == "it computes with random numbers (RandomNormalLike)"
