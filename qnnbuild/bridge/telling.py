"""What the bridge says in words: problems, failures, what was stopped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from qnnbuild.engine.status import Going
    from qnnbuild.errors import Problem

NAMED = 5
"""So many actions are told one by one."""

LAST_LINES = 3
"""Of each of them; nothing went wrong there."""


def told(problems: Iterable[Problem], *, colour: bool = False) -> str:
    """Problems as words; in a GitHub workflow as its annotations."""
    from qnnbuild.text import render

    if os.environ.get("GITHUB_ACTIONS") == "true":
        return render.github(problems)
    return render.terminal(problems, colour=colour)


def say(problems: Sequence[Problem], stream: TextIO) -> None:
    if problems:
        from qnnbuild.text.render import wants_colour

        stream.write(told(problems, colour=wants_colour(stream, os.environ)))
        stream.flush()


def failed_again(names: Sequence[str], command: str) -> str:
    """At the end of a build with several failures: which, and the command for just these."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"failed: {', '.join(names[:NAMED])}{more}\n  again: {command}\n"


def of_before(folders: Sequence[str]) -> str:
    """Bundles that were to be made anew, and still are what an earlier build made."""
    more = f" and {len(folders) - NAMED:,} more" if len(folders) > NAMED else ""
    return f"still of an earlier build: {', '.join(folders[:NAMED])}{more}\n"


def stopped(cut: Sequence[tuple[Going, Path | None]]) -> str:
    """What was running when a build had to end: how long, its last lines, its log."""
    text = "".join(map("".join, (_stopped(going, log) for going, log in cut[:NAMED])))
    more = len(cut) - NAMED
    return text + (f"stopped {more:,} more\n" if more > 0 else "")


def _stopped(going: Going, log: Path | None) -> Iterator[str]:
    yield f"stopped {going.name} ({going.told()})\n"
    if log is None or not log.exists():
        return
    label = "  log:"
    lines = lines_of(log, LAST_LINES)
    if lines:
        yield "  last lines: " + "\n              ".join(lines) + "\n"
        label = "  log:       "
    yield f"{label} {log}\n"


def lines_of(log: Path | None, count: int) -> list[str]:
    """The last lines of a log, as they may be shown."""
    if log is None or not log.exists():
        return []
    from qnnbuild.engine.runner import last_lines
    from qnnbuild.text.shown import shown

    return [shown(line, os.environ) for line in last_lines(log, count)]
