"""doit run with --json-events: the first event before anything is read, the last one at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from qnnbuild.bridge.events import events_to
from qnnbuild.bridge.telling import say
from qnnbuild.engine.event_lines import STDOUT
from qnnbuild.errors import QnnbuildError, RecipeError

OURS = "qnnbuild"
DOITS_DEFAULT = "console"


def run_with_events(command: Any, where: str, params: Any, run: Callable[[], int]) -> int:
    """`run` gives the exit code. What people read goes to stderr where stdout has the events."""
    try:
        _check(params)
        with events_to(where, lambda problem: say([problem], sys.stderr)) as events:
            command.loader.events = events
            events.began(Path.cwd(), sys.argv)
            code = QnnbuildError.exit_code
            try:
                code = _in_the_open(where, params, run)
            finally:
                events.ended(code)
            return code
    except QnnbuildError as error:
        say(error.problems, sys.stderr)
        return error.exit_code


def _check(params: Any) -> None:
    """Others hear nothing of actions; doit's default gives way to ours."""
    reporter = params.get("reporter")
    if reporter != OURS and ("reporter" in _typed(params) or reporter != DOITS_DEFAULT):
        raise RecipeError(
            f"--json-events goes with our own reporter, and '{reporter}' is asked for",
            hint="leave -r away",
        )


def _typed(params: Any) -> Collection[str]:
    return getattr(params, "_non_default_keys", ())


def _in_the_open(where: str, params: Any, run: Callable[[], int]) -> int:
    if where != STDOUT:
        return run()
    if "outfile" not in _typed(params):
        params["outfile"] = sys.stderr
    with redirect_stdout(sys.stderr):
        return run()
