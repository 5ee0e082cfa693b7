"""What the warm server does once, before it forks the children that compile."""

from __future__ import annotations

import ctypes


def warm() -> None:
    """Import the runtime and map the compiler. No plugin is registered, no session made: the
    bytes that a child compiles stay those of a fresh process."""
    import onnxruntime  # noqa: F401
    import onnxruntime_qnn

    ctypes.CDLL(onnxruntime_qnn.get_qnn_htp_path())
