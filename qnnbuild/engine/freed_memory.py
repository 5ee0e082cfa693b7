"""What a child does with memory that it has freed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # <malloc.h>

ROOMY = 1 << 30
"""Bytes of inputs up to which the C library keeps what is freed, for what is needed next."""


def keep_freed(folders: Iterable[Path]) -> None:
    """Have this process hold on to freed memory where its inputs, in `folders`, are not too large.

    Else each copy of a model's weights is given back, and comes again as pages that the kernel has
    to clear: half of the time of a prepare with 200 MB of them. What is kept makes a run's peak
    larger by the gaps between what is used, a tenth there; where inputs are huge that counts.
    """
    size = 0
    for folder in folders:
        for path in folder.rglob("*"):
            size += path.lstat().st_size
            if size > ROOMY:
                return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # musl has none
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, -1)  # none
