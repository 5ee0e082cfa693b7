"""Builds in processes of their own: begun, perhaps killed, and what became of them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


@dataclass
class Forks:
    """A program that has imported all of it once: an import takes longer than a build."""

    program: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self.program = subprocess.Popen(
            [sys.executable, "-m", "tests.laws.building"],
            cwd=PACKAGE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def build(
        self,
        root: Path,
        said: Path,
        *words: str,
        deadly: int = 0,
        env: Mapping[str, str] = NOTHING_MORE,
    ) -> Going:
        """Begin one that kills itself at change `deadly` of the disk; 0: never."""
        return self._begin("build", root, said, words, deadly=deadly, env=dict(env))

    def command(
        self, root: Path, said: Path, *words: str, env: Mapping[str, str] = NOTHING_MORE
    ) -> Going:
        return self._begin("command", root, said, words, deadly=0, env=dict(env))

    def _begin(
        self, what: str, root: Path, said: Path, words: tuple[str, ...], **more: object
    ) -> Going:
        asked = {"what": what, "root": str(root), "said": str(said), "words": words, **more}
        return Going(self, self.ask(**asked), said)

    def ask(self, **asked: Any) -> int:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write(json.dumps(asked) + "\n")
        self.program.stdin.flush()
        return int(self.program.stdout.readline())

    def end(self) -> None:
        self.program.communicate()


@contextmanager
def forks() -> Iterator[Forks]:
    program = Forks()
    try:
        yield program
    finally:
        program.end()


@dataclass(frozen=True)
class Going:
    """One that runs. Until it was waited for its process id is nobody else's."""

    forks: Forks
    pid: int
    output: Path

    def ends_within(self, seconds: float) -> bool:
        handle = os.pidfd_open(self.pid)
        try:
            return bool(select.select([handle], [], [], seconds)[0])
        finally:
            os.close(handle)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def kill_children(self) -> None:
        told = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        for child in told.read_text().split() if told.exists() else ():
            with suppress(ProcessLookupError):  # it has ended just now
                os.kill(int(child), signal.SIGKILL)

    def wait(self) -> tuple[int, str]:
        """Its exit code, below 0 the signal that ended it, and what it said."""
        code = self.forks.ask(what="wait", pid=self.pid)
        said = self.output.read_text(encoding="utf-8")
        assert "Traceback" not in said, said
        return code, said
