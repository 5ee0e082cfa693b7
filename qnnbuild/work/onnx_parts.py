"""A bound for what is read of an ONNX file, told before it is in memory."""

from __future__ import annotations

import mmap
from pathlib import Path

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.onnx_parts import GRAPHS, NODES, TooMany, count_parts
from qnnbuild.work.run import WorkError

HINTS = {
    NODES: "export it without loops that are unrolled, or in parts",
    GRAPHS: "export it by tracing: then If and Loop are decided, or unrolled",
}
RIGHT_FILE = "no model for an NPU has as many: is this the right file?"


def check_parts(path: Path, *, shown: str | None = None) -> None:
    """Raises WorkError for a file with more of anything than a model has.

    What is no whole ONNX file is told by who reads it.
    """
    try:
        count_parts(_mapped(path))
    except TooMany as error:
        raise WorkError(
            f"'{shown or path.name}' is no model for an NPU: {error}",
            hint=HINTS.get(error.what, RIGHT_FILE),
            exit_code=2,
        ) from None
    except FormatError:
        return


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"")
        # left to the collector: closing raises as long as a traceback holds a part of it
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
