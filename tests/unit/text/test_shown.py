"""Names of strangers on a terminal and in the log of a job."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qnnbuild.text.shown import COMMAND, all_shown, shown

JOB = {"GITHUB_ACTIONS": "true"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b]0;title\x07x", "�]0;title�x"),
        ("\x1b[2Jx\x9b31m", "�[2Jx�31m"),
        ("a\rb\x08\x7f", "a�b��"),
        ("abc\u202ecba", "abc�cba"),
        ("half \ud800", "half �"),
        ("模型 é ﷽", "模型 é ﷽"),
        ("::add-mask::x", "::add-mask::x"),
    ],
)
def test_what_moves_a_cursor_or_turns_a_line_is_not_shown(text, seen):
    assert shown(text, {}) == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("::add-mask::x", ": :add-mask::x"),
        ("name\n  ::stop-commands::x\n", "name\n  : :stop-commands::x\n"),
        ("\t::error::x", "\t: :error::x"),
        ("a ##[add-path]/tmp", "a # #[add-path]/tmp"),
        ("std::vector", "std::vector"),
    ],
)
def test_no_line_of_a_job_is_a_command_of_strangers(text, seen):
    assert shown(text, JOB) == seen


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(list(":#[ \n\t\r\x0b\x85\u2028a")) | st.characters(), max_size=30))
def test_whatever_is_written_has_no_commands(text: str):
    seen = shown(text, JOB)

    assert not COMMAND.search(seen)
    assert not any(line.lstrip().startswith("::") for line in seen.splitlines())
    assert "\x1b" not in seen


def test_all_that_is_printed_goes_that_way():
    system = SimpleNamespace(stdout=io.StringIO())
    before = system.stdout
    with all_shown(system, {}):
        print("a\x1bb", file=system.stdout)

        assert system.stdout.getvalue() == "a�b\n"
    assert system.stdout is before
