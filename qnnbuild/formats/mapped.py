"""A file's bytes without reading them: of a large one no more comes into memory than is used."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from qnnbuild.formats.format_error import FormatError


def mapped(path: Path) -> memoryview:
    """Raises FormatError for an empty file, OSError as reading does.

    The map is left to the collector: closing raises as long as a traceback holds a part of it.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise FormatError("empty")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
