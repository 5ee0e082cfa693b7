"""docs/cli.md says what the parsers of the command line say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from qnnbuild.cli import COMMANDS
from tools.cli_page import PAGE, page


def test_the_page_is_what_the_parsers_say(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, page())


def test_every_command_has_a_section() -> None:
    text = page()

    assert [name for name in COMMANDS if f"\n## `qnnbuild {name}`\n" not in text] == []
