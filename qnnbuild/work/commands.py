"""Start a program, keep all it says in the log, and remember its last lines."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LAST_LINES = 15


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended. `code` is negative for a signal, as in subprocess."""

    code: int
    last_lines: tuple[str, ...]

    @property
    def how(self) -> str:
        return f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"

    def said(self, *prefixes: str) -> tuple[str, ...]:
        """The last lines, only those that begin with one of `prefixes` where there are any."""
        chosen = tuple(line for line in self.last_lines if line.startswith(prefixes))
        return chosen or self.last_lines


def run_command(
    argv: Sequence[str], *, env: Mapping[str, str], folder: Path | None = None
) -> Ended:
    """Run to the end, its output into our own. FileNotFoundError when there is no such program.

    The child stays in this process group, so a deadline that ends the group ends it too.
    """
    last: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        list(argv),
        env=dict(env),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            if line.strip():
                last.append(line.rstrip())
    sys.stdout.flush()
    return Ended(code=process.returncode, last_lines=tuple(last))
