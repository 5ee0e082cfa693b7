"""Files that are small by their kind: whoever wrote them, no more is read than such a file has."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # as in glance, which imports this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

MANIFEST = 64 << 20
"""Manifests and what is like them have a few MB at most."""

PAGE = 256 << 20
"""A report holds its data and the library that draws it."""

GATE = 256 << 20
SIGNATURE = 1 << 20


class NotSmall(ValueError):
    """No plain file, or larger than its kind. To a reader of JSON it is as good as damaged."""


def read_small(path: str | Path, most: int = MANIFEST) -> bytes:
    """Raises NotSmall for a device, a pipe, and what is larger than `most` bytes; else OSError."""
    with open(path, "rb", buffering=0, opener=_at_once) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise NotSmall(f"{os.path.basename(path)} is no file, but a device")
        # memory for what is there; what grows meanwhile is read on
        data = file.read(min(found.st_size, most) + 1)
        while len(data) <= most and (more := file.read(most + 1 - len(data))):
            data += more
    if len(data) > most:
        raise NotSmall(f"{os.path.basename(path)} is larger than {most >> 20} MiB")
    return data


def read_json(path: Path, most: int = MANIFEST) -> Any:
    """Raises NotSmall, ValueError, RecursionError or OSError."""
    import json  # a build of nothing has none to read

    return json.loads(read_small(path, most).decode("utf-8"))


def _at_once(path: str, flags: int) -> int:
    """A pipe that nobody writes to would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)
