"""A bound for what is read of an ONNX file, told before it is in memory."""

from __future__ import annotations

from pathlib import Path

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.mapped import mapped
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
        count_parts(mapped(path))
    except TooMany as error:
        raise WorkError(
            f"'{shown or path.name}' is no model for an NPU: {error}",
            hint=HINTS.get(error.what, RIGHT_FILE),
            exit_code=2,
        ) from None
    except FormatError:
        return
