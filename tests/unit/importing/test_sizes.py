"""Open dimensions: what is given counts, then what was said before, then what is usual."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.importing.sizes import Shape, Sizes, check_used, settle


@pytest.mark.parametrize(
    ("shape", "dtype", "found"),
    [
        (("batch", 3, "height", "width"), "float32", (1, 3, 224, 224)),
        (("", "", "", ""), "float32", (1, 3, 224, 224)),
        (("N", 224, 224, "C"), "float32", (1, 224, 224, 3)),
        (("", "?", "?", 3), "uint8", (1, 224, 224, 3)),
        (("batch_size", "sequence_length"), "int64", (1, 128)),
        (("N", "T", 80), "float32", (1, 100, 80)),
        (("B", "num_samples"), "float32", (1, 16000)),
        (("", ""), "int64", (1, 128)),
        ((0, 4), "float32", (1, 4)),
        (("n", 8, "past_sequence_length", 64), "float16", (1, 8, 128, 64)),
    ],
)
def test_a_usual_name_has_a_usual_size(shape: Shape, dtype: str, found: tuple[int, ...]) -> None:
    settled = settle("x", shape, dtype, Sizes())

    assert settled is not None
    assert settled.shape == found
    assert settled.guessed


def test_what_the_file_has_is_left_alone() -> None:
    assert settle("x", (1, 2), "float32", Sizes()) is None
    assert settle("x", (), "float32", Sizes()) is None


def test_one_symbol_has_one_size_in_all_inputs() -> None:
    sizes = Sizes(shapes={"a": [1, 77]})
    first = settle("a", ("b", "seq"), "int64", sizes)
    second = settle("c", ("b", "seq"), "int64", sizes)

    assert first is not None
    assert second is not None
    assert (first.shape, first.guessed) == ((1, 77), ())
    assert second.shape == (1, 77)


def test_somebody_who_is_asked_is_asked_once_for_a_symbol() -> None:
    asked: list[tuple[str, int]] = []

    def ask(question: str, guess: int) -> int:
        asked.append((question, guess))
        return 32

    sizes = Sizes(ask=ask)
    first = settle("a", (1, "seq"), "int64", sizes)
    second = settle("b", (1, "seq"), "int64", sizes)

    assert first is not None
    assert second is not None
    assert (first.shape, second.shape, second.guessed) == ((1, 32), (1, 32), ())
    assert asked == [("a [1, seq]: seq", 128)]


def test_a_shape_that_the_file_does_not_take_is_refused() -> None:
    with pytest.raises(RecipeError) as caught:
        settle("x", (1, 3, "H"), "float32", Sizes(shapes={"x": [1, 4, 8]}))

    (problem,) = caught.value.problems
    assert problem.message == "--shape x=1,4,8 is no shape of that input"
    assert problem.facts == (("in the file", "[1, 3, H]"),)


def test_a_size_for_nothing_is_an_error_with_the_nearest_name() -> None:
    sizes = Sizes(dims={"sequence": 3})
    settle("x", (1, "seqence"), "int64", sizes)
    with pytest.raises(RecipeError) as caught:
        check_used(sizes, ["x"], ["seqence"])

    (problem,) = caught.value.problems
    assert problem.message == "--dim sequence: no open dimension is called so"
    assert problem.hint == "did you mean 'seqence'?"
