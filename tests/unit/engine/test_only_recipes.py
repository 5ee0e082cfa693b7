"""What of the command line a build of nothing needs no doit for."""

from __future__ import annotations

import pytest

from qnnbuild.engine.only_recipes import says_nothing_else


@pytest.mark.parametrize(
    ("words", "nothing_else"),
    [
        ("", True),
        ("-n 4", True),
        ("-n4 -c", True),
        ("--process 4 --continue", True),
        ("--process=4", True),
        ("-n", False),
        ("-n x", False),
        ("4", False),
        ("-a", False),
        ("bundle/m@A", False),
        ("-r zero", False),
        ("run", False),
    ],
)
def test_words_that_only_say_how_to_build_need_no_doit(words: str, nothing_else: bool) -> None:
    assert says_nothing_else(words.split()) == nothing_else
