"""Each block of a page says what it is, and no command stands where no test finds it."""

from __future__ import annotations

import re
import shlex
from functools import cache

import pytest

from qnnbuild.cli import COMMANDS as OURS
from qnnbuild.cli import parser_of
from tests.documents import COMMANDS, MARKS, NOT_RUN, ROOT, SHOWN, blocks, pages, read
from tools.cli_page import actions, subparsers

INLINE = re.compile(r"(?<!`)`(qnnbuild [a-z][^`]*)`(?!`)")
INDENTED = re.compile(r"(?:\A|\n)\n {4,}\S[^\n]*")
TEST = re.compile(r"tests/[\w/]+(?:\.py)?")
AFTER = {"build"}
"""Reads words of doit, which argparse does not know."""


@pytest.mark.parametrize("page", pages())
def test_each_block_says_what_it_is(page: str) -> None:
    unknown = [str(block) for block in blocks(page) if block.language not in (*COMMANDS, *SHOWN)]

    assert unknown == []


@pytest.mark.parametrize("page", pages())
def test_no_block_is_told_by_its_indent_alone(page: str) -> None:
    """A command in it would be run by nobody."""
    text = re.sub(r"^( *)```.*?^\1```$", "", read(page), flags=re.DOTALL | re.MULTILINE)

    assert INDENTED.findall(text) == []


@pytest.mark.parametrize("page", pages())
def test_each_mark_of_a_block_is_known(page: str) -> None:
    marked = [block for block in blocks(page) if block.marks]

    assert [str(b) for b in marked if not b.marks.keys() <= {*MARKS}] == []
    assert [str(b) for b in marked if b.marks.get("not run", "suite") not in NOT_RUN] == []


def test_each_reason_is_used_and_names_tests_that_are_there() -> None:
    used = {block.marks.get("not run") for page in pages() for block in blocks(page)}

    assert NOT_RUN.keys() - used == set()
    named = [path for reason in NOT_RUN.values() for path in TEST.findall(reason)]
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", pages())
def test_each_command_in_a_sentence_has_the_words_that_qnnbuild_knows(page: str) -> None:
    text = re.sub(r"^( *)```.*?^\1```$", "", read(page), flags=re.DOTALL | re.MULTILINE)

    assert [command for command in INLINE.findall(text) if not is_known(command)] == []


def is_known(command: str) -> bool:
    """Whether each option stands in the help of its command; what is in brackets counts, too."""
    words = shlex.split(re.sub(r"[\[\]…]|&&.*", " ", command))[1:]
    if words[0] not in OURS:
        return False
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    return words[0] in AFTER or given <= options(words[0])


@cache
def options(name: str) -> frozenset[str]:
    """All options of a command, and of the commands below it."""
    parser = parser_of([name])
    found: set[str] = set()
    waiting = [subparsers(parser)[name]]
    while waiting:
        one = waiting.pop()
        found |= {word for action in actions(one) for word in action.option_strings}
        waiting += subparsers(one).values()
    return frozenset(found)
