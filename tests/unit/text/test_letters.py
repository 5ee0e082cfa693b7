"""Names with every trick of Unicode: what they look like, what they are, and what is told."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qnnbuild.errors import Problem, Span
from qnnbuild.text.letters import (
    PASS_FOR,
    all_told,
    false_in,
    folded,
    hidden_in,
    odd_in,
    plain,
    skeleton,
    told,
)
from qnnbuild.text.render import as_json, clean, terminal

A = "\u0430"  # CYRILLIC SMALL LETTER A


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Encoder", "encoder"),
        ("caf\u00e9", "cafe\u0301"),  # put together, and in parts
        ("CAF\u00c9", "cafe\u0301"),
        ("stra\u00dfe", "STRASSE"),
        ("\u03a3\u03a3", "\u03c3\u03c2"),  # a sigma at the end of a word is another letter
        ("\u212bngstrom", "\u00e5ngstrom"),  # the unit and the letter
    ],
)
def test_names_of_one_file_on_some_disk_are_equal_when_folded(one, other):
    assert one != other
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    "name",
    [
        f"{A}bc",
        "\uff41bc",  # fullwidth
        "\U0001d41abc",  # of formulas
        "a\u200bbc",
        "a\u00adbc",
        "\u2066abc\u2069",
        "ABC",
    ],
)
def test_names_that_look_like_abc_have_its_skeleton(name):
    assert skeleton(name) == "abc"


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("abc", ""),
        ("a\u200bb", "\u200b"),
        ("a\u2060b", "\u2060"),
        ("\ufeffab", "\ufeff"),
        ("a\u00adb", "\u00ad"),
        ("\u202eba", "\u202e"),
        ("\u2067ab\u2069", "\u2067\u2069"),
        ("a\u200eb", "\u200e"),
        ("a\u2028b", "\u2028"),
        ("a\u3164b", "\u3164"),
        ("a\U000e0061", "\U000e0061"),
        ("a\u200cb", "\u200c"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ""),  # a Persian word needs it
        ("\u0915\u094d\u200d\u0937", ""),  # and one in Hindi
        ("\u6a21\u578b", ""),
    ],
)
def test_characters_that_nobody_sees_are_found(name, hidden):
    assert hidden_in(name) == hidden


@pytest.mark.parametrize(
    ("name", "false"),
    [
        (f"{A}lpha.onnx", A),
        ("s\u0430mple\u0455/x", "\u0430\u0455"),
        ("m\u03bfdel", "\u03bf"),
        ("\uff4dodel", "\uff4d"),
        ("\u0434\u0430\u043d\u043d\u044b\u0435/x.npz", ""),  # a Russian word beside ASCII
        ("\u0445\u043e\u0440.wav", ""),  # one whose letters all pass for ASCII
        ("\u0394x_\u03b1\u03b2.npy", ""),  # as formulas are written
        ("5\u00b5s", ""),
        ("na\u00efve-caf\u00e9", ""),
        ("\u6a21\u578bA", ""),
    ],
)
def test_letters_that_pass_for_others_in_their_word_are_found(name, false):
    assert false_in(name) == false


def test_what_is_meant_can_be_said():
    assert plain("s\u0430mple\u0455\u200b/\uff58") == "samples/x"
    assert plain("\u0434\u0430") == "\u0434a"


def test_letters_are_told_by_their_names():
    assert told(A) == "U+0430 CYRILLIC SMALL LETTER A"
    assert told("\x80") == "U+0080"
    assert (
        all_told("\u0430\u0430\u200b") == "U+0430 CYRILLIC SMALL LETTER A, U+200B ZERO WIDTH SPACE"
    )
    assert all_told("\u0430\u0431\u0432\u0433\u0434\u0435").endswith("LETTER GHE and 2 more")


def test_the_table_is_of_letters_and_leads_to_ascii():
    assert all(unicodedata.category(char)[0] == "L" and not char.isascii() for char in PASS_FOR)
    assert all(char.isascii() and char.isalpha() for char in PASS_FOR.values())


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_passes_for_nothing_but_itself(text: str):
    assert false_in(text) == hidden_in(text) == odd_in(text) == ""
    assert plain(text) == text


@given(st.text())
def test_what_is_shown_has_nothing_that_turns_a_line_or_is_not_seen(text: str):
    seen = clean(text)

    assert len(seen) == len(text)
    assert not {unicodedata.category(c) for c in seen if c not in "\n\u200c\u200d"} & {
        *("Cc", "Cf", "Cs", "Zl", "Zp")
    }


def wrong(name: str) -> Problem:
    at = Span(file="a.yaml", line=1, column=8, end=8 + len(name), text=f"model: {name}")
    return Problem(message="it is wrong", at=at)


def test_an_error_tells_the_letters_that_its_reader_cannot_see():
    shown = terminal([wrong(f"{A}lpha")])

    assert shown.endswith("  it holds: U+0430 CYRILLIC SMALL LETTER A\n")
    assert as_json([wrong("\u0441\u043e\u0441\u043e")])[0]["facts"] == {  # type: ignore[index,call-overload]
        "it holds": "U+0441 CYRILLIC SMALL LETTER ES, U+043E CYRILLIC SMALL LETTER O"
    }
    assert "U+00A0 NO-BREAK SPACE" in terminal([wrong("a\u00a0b")])
    assert "it holds" not in terminal([wrong("\u0434\u0430\u043d\u043d\u044b\u0435")])
    assert "it holds" not in terminal([wrong("alpha")])
