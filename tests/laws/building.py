"""Builds by doit in processes that end themselves by SIGKILL at their Nth change of the disk.

Run as a program: it has imported everything, and forks one process for each line that it reads.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qnnbuild.cli import main as qnnbuild
from qnnbuild.report.page import templates
from tests.laws.repo import ENDED_BADLY, doit

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "sqlite3.connect"}
READING = ("select", "pragma user_version", "pragma application_id")


class Counting:
    """Counts what changes the disk; the Nth is not done any more."""

    def __init__(self, deadly: int) -> None:
        self.deadly = deadly
        self.changes = 0

    def change(self) -> None:
        self.changes += 1
        if self.changes == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, event: str, args: tuple[object, ...]) -> None:
        # an open for writing is a change as well: it may create or empty the file
        if event in WRITES or (event == "open" and isinstance(args[2], int) and args[2] & 3):
            self.change()


def counted(counting: Counting) -> Callable[..., sqlite3.Connection]:
    """sqlite3.connect with each statement that may write as a change: it has no audit events."""

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if not sql.lstrip().startswith(READING):
                counting.change()
            return super().execute(sql, *values)

        def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
            counting.change()
            return super().executemany(sql, *values)

    connect = sqlite3.connect
    return lambda *args, **more: connect(*args, factory=Connection, **more)


def build(root: str, deadly: int, words: list[str]) -> int:
    """Says last how many changes there were."""
    counting = Counting(deadly)
    sqlite3.connect = counted(counting)  # type: ignore[assignment]
    sys.addaudithook(counting.watch)
    code = doit(Path(root), *words)
    sys.stdout.write(f"{counting.changes} changes\n")
    return code


def command(root: str, words: list[str]) -> int:
    """One of qnnbuild's own, in a repo whose recipes only the laws understand."""
    os.chdir(root)
    return qnnbuild(words)


def child(asked: dict[str, Any]) -> int:
    nothing = os.open(os.devnull, os.O_RDONLY)
    said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    for descriptor, stream in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(descriptor, stream)
    os.environ.update(asked["env"])
    if asked["what"] == "build":
        return build(asked["root"], asked["deadly"], asked["words"])
    return command(asked["root"], asked["words"])


def forked(asked: dict[str, Any]) -> int:
    """The process id of a child that does it."""
    pid = os.fork()
    if pid:
        return pid
    code = ENDED_BADLY
    try:
        code = child(asked)
    except BaseException:  # noqa: BLE001 - who reads what it said looks for a traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Lines of JSON, and of each a number: the process id, or how a process ended."""
    templates().get_template("report.html")  # compiled once
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["what"] == "wait":  # until then it is nobody else's number
            number = os.waitstatus_to_exitcode(os.waitpid(asked["pid"], 0)[1])
        else:
            number = forked(asked)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
