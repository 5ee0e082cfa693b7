from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.paths import repo_path
from qnnbuild.text.nodes import ScalarNode

AT = Span(file="recipes/m.yaml", line=4, column=9)


def path_of(text: str) -> str:
    return repo_path(ScalarNode(value=text, span=AT))


def test_a_path_is_relative_to_the_file_that_it_stands_in():
    assert path_of("../samples/**/*.npz") == "samples/**/*.npz"


@pytest.mark.parametrize("text", ["**.npz", "a/**b/c", "***"])
def test_two_stars_are_a_part_of_their_own(text):
    with pytest.raises(RecipeError) as caught:
        path_of(text)

    (problem,) = caught.value.problems
    assert problem.message == f"'{text}' has ** beside other letters"
    assert problem.hint == "** stands for any number of folders: samples/**/*.npz"
