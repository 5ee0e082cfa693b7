"""Other builds of this user on this machine: what each has promised its actions of the memory.

Each build has a file in a folder that they share, and writes it again and again while it runs
actions; what was not written for a while is of a build that was killed or put to sleep.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

FRESH_S = 10.0
OLD_S = 3600.0
LOCK_TRIES, LOCK_PAUSE_S = 100, 0.01
RECORD_BYTES = 256
"""More than a record has: one is written over the other, at once and whole."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """Of one build."""

    server: int  # the process whose children do its work
    promised: int  # bytes, to all of its actions that run
    running: int
    youngest: float  # when its last one started, by the machine's monotonic clock


class Neighbours:
    """Without a folder that can be used a build has none, and sees others by the memory they use.

    The folder is `$XDG_RUNTIME_DIR/qnnbuild`, or a user's own in the folder of temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = _own_folder(folder or _usual_folder())
        self._name = f"{uuid4().hex}.json"

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Hold the right to decide against all other builds.

        Who was put to sleep with it would keep it: after a moment it is done without.
        """
        with ExitStack() as stack:
            if self.folder is not None:
                with suppress(OSError):
                    _lock(stack.enter_context(_opened(self.folder / "deciding.lock")).fileno())
            yield

    def say(self, told: Told) -> None:
        if self.folder is None:
            return
        path = self.folder / self._name
        with suppress(OSError):  # a full disk must not stop a build that could go on
            if told.running:
                _rewrite(path, json.dumps(asdict(told)).encode().ljust(RECORD_BYTES))
            else:
                path.unlink(missing_ok=True)

    def others(self) -> list[Told]:
        """What the others said, and mean today."""
        if self.folder is None:
            return []
        found = []
        for path in self.folder.glob("*.json"):
            if path.name == self._name:
                continue
            with suppress(OSError, ValueError, TypeError):  # it ended just now, or is half a file
                age = abs(time.time() - path.stat().st_mtime)
                if age < FRESH_S:
                    found.append(Told(**json.loads(path.read_text(encoding="utf-8"))))
                elif age > OLD_S:
                    path.unlink()
        return found


def _rewrite(path: Path, record: bytes) -> None:
    """In place: it is written many times a second, and new files are dear to a file system.

    Who reads half of it takes it for nobody.
    """
    with _opened(path) as file:
        os.pwrite(file.fileno(), record, 0)


def _opened(path: Path) -> IO[bytes]:
    """For reading and writing; what is missing is made, as it was or with its folder."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags, 0o600), "r+b")
    except FileNotFoundError:  # a cleaner of temporary files took the folder
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return os.fdopen(os.open(path, flags, 0o600), "r+b")


def _lock(descriptor: int) -> None:
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE_S)
        else:
            return


def _usual_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "qnnbuild"
    return Path(tempfile.gettempdir()) / f"qnnbuild-builds-{os.getuid()}"


def _own_folder(folder: Path) -> Path | None:
    """The folder, when it is there or can be made and nobody else has it."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(folder)
        if (
            found.st_uid == os.getuid()
            and not os.path.islink(folder)
            and os.access(folder, os.W_OK)
        ):
            return folder
    return None
