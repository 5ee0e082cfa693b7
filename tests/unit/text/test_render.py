"""A problem as a terminal, GitHub and a program see it."""

from __future__ import annotations

import io

from qnnbuild.errors import Problem, Span
from qnnbuild.text.render import as_json, github, terminal, wants_colour


def at(text: str, column: int, end: int, line: int = 3) -> Span:
    return Span(file="recipes/sense-voice.yaml", line=line, column=column, end=end, text=text)


NO_CHIP = Problem(
    message="no chip is named 'SM8580'",
    at=at("chips: [SM8580, SM8850]", 9, 15),
    hint="did you mean 'SM8550'? all chips: qnnbuild chips",
)


def carets(problem: Problem) -> str:
    """What is shown of the line: the two lines behind their bars."""
    return "\n".join(line[8:] for line in terminal([problem]).splitlines()[1:3])


def test_a_problem_has_its_place_its_line_a_caret_and_a_hint() -> None:
    assert terminal([NO_CHIP]) == (
        "recipes/sense-voice.yaml:3:9: error: no chip is named 'SM8580'\n"
        "    3 | chips: [SM8580, SM8850]\n"
        "      |         ^^^^^^\n"
        "  hint: did you mean 'SM8550'? all chips: qnnbuild chips\n"
    )


def test_facts_are_aligned_and_long_ones_keep_their_column() -> None:
    problem = Problem(
        message="too large", facts=(("limit", "8 MiB"), ("of the graph", "9 MiB\n(conv_1)"))
    )

    assert terminal([problem]) == (
        "error: too large\n  limit:        8 MiB\n  of the graph: 9 MiB\n                (conv_1)\n"
    )


def test_a_warning_says_so() -> None:
    assert terminal([Problem(message="slow", severity="warning")]) == "warning: slow\n"


def test_a_place_without_its_line_shows_none() -> None:
    problem = Problem(message="the recipe is empty", at=Span(file="r.yaml", line=1, column=1))

    assert terminal([problem]) == "r.yaml:1:1: error: the recipe is empty\n"


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert carets(Problem(message="", at=at("模型: é x模", 7, 9))) == "模型: é x模\n        ^^^"
    assert carets(Problem(message="", at=at("e\u0301: x", 5, 6))) == "e\u0301: x\n   ^"


def test_tabs_become_spaces_and_the_caret_stays_below() -> None:
    assert carets(Problem(message="", at=at("a:\tbc", 4, 6))) == "a:  bc\n    ^^"


def test_a_place_past_the_end_of_the_line_has_a_caret_behind_it() -> None:
    assert carets(Problem(message="", at=at("a: [1", 6, 7))) == "a: [1\n     ^"


def test_of_a_long_line_only_the_part_around_the_place_is_shown() -> None:
    shown, caret = carets(
        Problem(message="", at=at("x" * 500 + "WRONG" + "y" * 500, 501, 506))
    ).splitlines()

    assert shown == "…" + "x" * 40 + "WRONG" + "y" * 75 + "…"
    assert caret == " " * 41 + "^^^^^"


def test_nothing_of_a_file_moves_the_cursor_or_turns_text_around() -> None:
    problem = Problem(message="'\x1b[2J' \u202e", at=at("a: \x1b[2J", 4, 5))

    assert terminal([problem]) == (
        "recipes/sense-voice.yaml:3:4: error: '�[2J' �\n    3 | a: �[2J\n      |    ^\n"
    )


def test_colour_marks_place_kind_caret_and_hint() -> None:
    assert terminal([NO_CHIP], colour=True) == (
        "\x1b[1mrecipes/sense-voice.yaml:3:9:\x1b[0m \x1b[31merror:\x1b[0m"
        " no chip is named 'SM8580'\n"
        "    3 | chips: [SM8580, SM8850]\n"
        "      |         \x1b[31m^^^^^^\x1b[0m\n"
        "  \x1b[36mhint:\x1b[0m did you mean 'SM8550'? all chips: qnnbuild chips\n"
    )


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_a_terminal_whose_user_allows_it_gets_colour() -> None:
    assert wants_colour(Screen(), {})
    assert not wants_colour(io.StringIO(), {})
    assert not wants_colour(Screen(), {"NO_COLOR": "1"})
    assert not wants_colour(Screen(), {"TERM": "dumb"})


def test_on_github_a_problem_is_one_line_with_its_place() -> None:
    problem = Problem(
        message="100% wrong", at=Span(file="a,b.yaml", line=3, column=9), facts=(("of", "1"),)
    )

    assert github([NO_CHIP, problem]) == (
        "::error file=recipes/sense-voice.yaml,line=3,col=9,endColumn=15::"
        "no chip is named 'SM8580'%0A"
        "  hint: did you mean 'SM8550'? all chips: qnnbuild chips\n"
        "::error file=a%2Cb.yaml,line=3,col=9::100%25 wrong%0A  of: 1\n"
    )


def test_a_program_gets_the_parts() -> None:
    assert as_json([NO_CHIP]) == [
        {
            "file": "recipes/sense-voice.yaml",
            "line": 3,
            "column": 9,
            "end": 15,
            "severity": "error",
            "message": "no chip is named 'SM8580'",
            "facts": {},
            "hint": "did you mean 'SM8550'? all chips: qnnbuild chips",
        }
    ]
