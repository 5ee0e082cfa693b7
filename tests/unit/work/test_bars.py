"""Which numbers hold which bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.bars import Bar, check_names, excused, judge_metric, judge_outputs
from qnnbuild.work.measures import as_json, compare_arrays
from qnnbuild.work.run import WorkError

REFERENCE = np.array([[0.1, 0.7, 0.2]], np.float32)


def numbers(answer: Any, reference: Any = REFERENCE, kind: str = "float", name: str = "y") -> Any:
    told = as_json(
        compare_arrays(np.asarray(answer), np.asarray(reference), name=name), exact=kind == "exact"
    )
    return {name: {"kind": kind, "all": told}}


def held(outputs: Any, **bars: float) -> dict[str, bool]:
    return {bar.what: bar.holds for bar in judge_outputs(outputs, bars)}


def test_each_bar_is_looked_at_alone() -> None:
    bars = {
        "min_sqnr_db": 10.0,
        "min_cosine": 0.9999,
        "max_abs_error": 0.2,
        "max_rel_error": 0.1,
        "min_top1": 1.0,
    }

    assert held(numbers(REFERENCE + np.array([[0.1, 0, 0]], np.float32)), **bars) == {
        "min_sqnr_db": True,
        "min_cosine": False,
        "max_abs_error": True,
        "max_rel_error": False,
        "min_top1": True,
    }


def test_a_nan_breaks_a_bar_that_nobody_wrote() -> None:
    assert held(numbers([[np.nan, 0.7, 0.2]])) == {"finite": False}


def test_an_error_that_is_next_to_nothing_holds_every_ratio() -> None:
    silent = np.zeros((1, 3), np.float32)

    assert held(numbers(silent + np.float32(1e-7), silent), min_sqnr_db=30.0) == {
        "min_sqnr_db": True
    }


def test_whole_numbers_must_be_equal_unless_the_recipe_says_how_far_or_how_often() -> None:
    off = numbers([1, 2, 3, 4], [1, 2, 3, 5], "exact")

    assert held(off, min_sqnr_db=30.0) == {"equal": False}
    assert held(off, max_abs_error=1.0) == {"max_abs_error": True}
    assert held(off, min_top1=0.75) == {"min_top1": True}


def test_classes_are_those_of_the_output_that_looks_like_them() -> None:
    wrong = [[0.7, 0.1, 0.2]]
    outputs = {
        **numbers(wrong, name="probabilities"),
        **numbers([[5.0, 1.0, 0.0]], [[0.0, 1.0, 5.0]], name="embedding"),
    }
    found = list(judge_outputs(outputs, {"min_top1": 0.5}))

    assert [(bar.of, bar.value, bar.holds) for bar in found] == [("probabilities", 0.0, False)]


def test_where_no_output_looks_like_classes_all_are_taken_for_them() -> None:
    assert held(numbers([[9.0, 1.0, 5.0]], [[0.0, 1.0, 5.0]]), top_k=2, min_top_k=1.0) == {
        "min_top_k": True
    }


def test_a_metrics_bar_is_on_the_value_of_its_name() -> None:
    found = [*judge_metric("wer", {"wer": 0.1, "words": 50.0}, {"at_most": 0.2})]

    assert found == [Bar(what="at_most", of="wer", value=0.1, bar=0.2, holds=True)]


def test_a_metrics_bar_is_on_all_values_when_none_has_its_name() -> None:
    found = [*judge_metric("map", {"cats": 0.4, "dogs": 0.6}, {"at_least": 0.5, "at_most": None})]

    assert [(bar.of, bar.holds) for bar in found] == [("map: cats", False), ("map: dogs", True)]


def test_a_bar_says_what_is_and_what_is_wanted() -> None:
    low = Bar(what="min_sqnr_db", of="y", value=12.34, bar=30.0, holds=False)
    nan = Bar(what="finite", of="y", value=3, bar=None, holds=False)

    assert low.words() == "SQNR 12.3 dB, at least 30 dB wanted"
    assert nan.words() == "3 values are NaN or infinite"


def test_an_outputs_own_bars_stand_in_place_of_all_others() -> None:
    outputs = {**numbers(REFERENCE + 0.1, name="p"), **numbers(REFERENCE + 0.1, name="s")}
    bars = {"min_sqnr_db": 30.0, "outputs": {"p": {"max_abs_error": 0.2}}}

    assert [(bar.of, bar.what, bar.holds) for bar in judge_outputs(outputs, bars)] == [
        ("p", "max_abs_error", True),
        ("s", "min_sqnr_db", False),
    ]


def test_an_output_that_is_excused_has_no_bar_at_all() -> None:
    bars = {"min_sqnr_db": 30.0, "outputs": {"y": {"excused": "noise by design"}}}

    assert list(judge_outputs(numbers([[np.nan, 0.7, 0.2]]), bars)) == []
    assert excused(bars) == {"y": "noise by design"}


def test_classes_of_an_output_that_is_named_count_whatever_it_looks_like() -> None:
    outputs = {**numbers(REFERENCE, name="probs"), **numbers([[9.0, 5.0, -2.0]], [[5.0, 9.0, 0.0]])}
    bars = {"outputs": {"y": {"min_top1": 1.0}}}

    assert [(bar.of, bar.holds) for bar in judge_outputs(outputs, bars)] == [("y", False)]


def test_classes_that_are_not_there_are_an_error() -> None:
    bars = {"outputs": {"y": {"top_k": 5, "min_top_k": 1.0}}}
    with pytest.raises(WorkError) as caught:
        list(judge_outputs(numbers([[0.1, 0.9]], [[0.2, 0.8]]), bars))

    assert caught.value.message == "output 'y' has no classes to agree on"
    assert (caught.value.place, caught.value.exit_code) == ("verify.outputs.y.top_k", 2)


def test_a_bar_for_what_is_no_output_is_an_error() -> None:
    with pytest.raises(WorkError) as caught:
        check_names({"outputs": {"prop": {"min_cosine": 0.9}}}, numbers(REFERENCE, name="prob"))

    assert caught.value.message == "the graph has no output 'prop'"
    assert caught.value.facts == (("its outputs", "prob"),)
    assert caught.value.hint == "did you mean 'prob'?"


def test_bars_of_different_kinds_are_compared_by_how_far_they_are_missed() -> None:
    def short(what: str, value: float, bar: float) -> float:
        return round(Bar(what=what, of="y", value=value, bar=bar, holds=False).short_db, 1)

    assert short("min_sqnr_db", 12.0, 30.0) == 18.0
    assert short("max_abs_error", 0.2, 0.02) == 20.0
    assert short("min_cosine", 0.9, 0.99) == 10.0
    assert short("at_most", 0.2, 0.1) == 6.0
    assert short("min_top1", 0.9, 1.0) == math.inf
