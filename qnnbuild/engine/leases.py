"""Leases: each living build marks the store, so that nothing is taken from under it."""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from qnnbuild.engine.store import on_disk

FOLDER = "builds"


def checkout_of(root: Path) -> str:
    """What names of actions belong to in a store that several folders share."""
    return sha256(os.fsencode(root)).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A build's own mark. It ends with `end` or, whatever happens, with the process."""

    path: Path
    file: TextIO

    @classmethod
    def take(cls, root: Path, checkout: str) -> Lease:
        """`root` is the store's."""
        path = root / FOLDER / f"{uuid4().hex}.lease"
        path.parent.mkdir(exist_ok=True)
        unheld = path.with_suffix(".new")  # a lease that is seen is held
        file = None
        with on_disk("the build cannot be noted in the store"):
            try:
                file = unheld.open("x", encoding="utf-8")
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
                json.dump({"checkout": checkout, "began_ns": time.time_ns()}, file)
                file.flush()
                os.rename(unheld, path)
            except BaseException:
                unheld.unlink(missing_ok=True)
                with suppress(OSError):  # what is not written yet has no room
                    if file is not None:
                        file.close()
                raise
        return cls(path=path, file=file)

    def end(self) -> None:
        self.path.unlink(missing_ok=True)
        self.file.close()


@dataclass(frozen=True, kw_only=True)
class Build:
    """One that runs now."""

    checkout: str
    began_ns: int


def living(root: Path) -> list[Build]:
    """The builds that hold a lease; what dead ones left is removed."""
    found = []
    for path in sorted((root / FOLDER).glob("*.lease")):
        try:
            with path.open("r+", encoding="utf-8") as file:
                if _is_free(file.fileno()):
                    path.unlink(missing_ok=True)
                else:
                    found.append(_read(file))
        except FileNotFoundError:
            continue  # it ended just now
    return found


def _read(file: TextIO) -> Build:
    try:
        told = json.load(file)
        return Build(checkout=str(told["checkout"]), began_ns=int(told["began_ns"]))
    except (ValueError, KeyError, TypeError):
        # it lives and its mark is damaged: whatever is there may be what it needs
        return Build(checkout="", began_ns=0)


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
