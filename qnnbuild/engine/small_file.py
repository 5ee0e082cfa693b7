"""Files that are small by their kind: whoever wrote them, no more is read than such a file has."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = 64 << 20
"""Manifests and what is like them have a few MB at most."""

PAGE = 256 << 20
"""A report holds its data and the library that draws it."""

GATE = 256 << 20
SIGNATURE = 1 << 20


class NotSmall(ValueError):
    """No plain file, or larger than its kind. To a reader of JSON it is as good as damaged."""


def read_small(path: Path, most: int = MANIFEST) -> bytes:
    """Raises NotSmall for a device, a pipe, and what is larger than `most` bytes; else OSError."""
    with open(path, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotSmall(f"{path.name} is no file, but a device")
        data = file.read(most + 1)
    if len(data) > most:
        raise NotSmall(f"{path.name} is larger than {most >> 20} MiB")
    return data


def read_json(path: Path, most: int = MANIFEST) -> Any:
    """Raises NotSmall, ValueError, RecursionError or OSError."""
    return json.loads(read_small(path, most).decode("utf-8"))


def _at_once(path: str, flags: int) -> int:
    """A pipe that nobody writes to would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)
