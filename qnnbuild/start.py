"""Where the command begins: a build of nothing ends here, and everything else goes on in `cli`.

Ninja has looked at ten thousand files before Python has imported argparse. What is imported here is
what looks at files, and nothing that only a build with work needs.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> int:
    began = time.monotonic()
    try:
        if sys.argv[1:2] == ["build"] and "_ARGCOMPLETE" not in os.environ and _is_done(began):
            return 0
    except KeyboardInterrupt:
        return 130
    from qnnbuild.cli import main as command

    return command()


def _is_done(began: float) -> bool:
    """Whether there was nothing to do, and that has been told. Trouble is the command's to tell."""
    from qnnbuild.engine.only_recipes import nothing_to_do

    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib takes as long to import as all the rest
        told = nothing_to_do(here, sys.argv[2:], began, _say)
        if told is None:
            return False
        _say(told)
    except OSError:
        return False
    return True


def _say(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has seen enough; Python would complain once more when it flushes at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
