from __future__ import annotations

from qnnbuild.errors import (
    BY_EXIT_CODE,
    NotGood,
    NothingMatches,
    Problem,
    RecipeError,
    Span,
    StoreError,
    ToolError,
    did_you_mean,
)

AT = Span(file="recipes/x.yaml", line=3, column=9, end=15, text="chips: [SM8580]")


def test_a_place_is_written_as_editors_read_it():
    assert str(AT) == "recipes/x.yaml:3:9"


def test_an_error_is_one_problem_with_all_that_was_given():
    error = RecipeError("no chip", at=AT, facts=[("chip", "SM8580")], hint="look")

    assert str(error) == "no chip"
    assert error.problems == (
        Problem(message="no chip", at=AT, facts=(("chip", "SM8580"),), hint="look"),
    )


def test_many_problems_make_one_error_of_the_class_asked_for():
    problems = [Problem(message="one", at=AT), Problem(message="two", hint="mend")]
    error = RecipeError.of(problems)

    assert type(error) is RecipeError
    assert str(error) == "one"
    assert error.problems == tuple(problems)


def test_each_class_has_the_exit_code_of_the_manual():
    codes = dict(BY_EXIT_CODE)

    assert codes == {
        2: RecipeError,
        3: NothingMatches,
        4: ToolError,
        5: NotGood,
        6: StoreError,
    }


def test_the_nearest_word_is_suggested_whatever_its_case():
    assert did_you_mean("sm8580", ["SM8550", "QCS6490"]) == "did you mean 'SM8550'?"


def test_a_suggestion_is_followed_by_the_way_out():
    hint = did_you_mean("SM8580", ["SM8550", "SM8850"], otherwise="all chips: qnnbuild chips")

    assert hint == "did you mean 'SM8850' or 'SM8550'? all chips: qnnbuild chips"


def test_without_a_near_word_only_the_way_out_is_told():
    assert did_you_mean("x", ["SM8550"], otherwise="all chips") == "all chips"
    assert did_you_mean("x", ["SM8550"]) is None
