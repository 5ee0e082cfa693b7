"""What strangers wrote, on its way to a terminal or to the log of a job: letters, and no commands.

Names in models and archives may hold anything: sequences that move a terminal's cursor or name its
window, characters that turn a line around, and lines that GitHub's runner takes for commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO, cast

from qnnbuild.text.render import clean

COMMAND = re.compile(r"^(\s*)::|##\[", re.MULTILINE)
"""What GitHub's runner takes for a command: a line that begins so, or holds the old form."""


def shown(text: str, environment: Mapping[str, str]) -> str:
    """The text as it may be written; lines and tabs stay as they are."""
    lines = "\n".join("\t".join(map(clean, line.split("\t"))) for line in text.split("\n"))
    if environment.get("GITHUB_ACTIONS") != "true":
        return lines
    return COMMAND.sub(_apart, lines)


def _apart(found: re.Match[str]) -> str:
    return "# #[" if found[1] is None else f"{found[1]}: :"


class Shown:
    """A stream that shows what is written to it so; everything else is the stream's own."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        self.stream = stream
        self.environment = environment

    def write(self, text: str) -> int:
        self.stream.write(shown(text, self.environment))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def all_shown(system: Any, environment: Mapping[str, str]) -> Iterator[None]:
    """`system`: what has a `stdout`. Whatever is printed in the meantime is shown so."""
    before = system.stdout
    system.stdout = cast("TextIO", Shown(before, environment))
    try:
        yield
    finally:
        system.stdout = before
