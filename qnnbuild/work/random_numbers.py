"""Random numbers that depend on a name only, and are the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def random_numbers(
    name: str,
    turn: int,
    *,
    dtype: np.dtype[Any],
    shape: Sequence[int],
    between: Sequence[float] | None = None,
) -> np.ndarray[Any, np.dtype[Any]]:
    """Uniform numbers in the range `between`, else floats in [-1, 1] and integers in {0, 1}.

    PCG64's raw stream is the same in every numpy version, its distributions are not.
    """
    seed = hashlib.sha256(f"{name}/{turn}".encode()).digest()
    count = int(np.prod(shape, dtype=np.int64))
    raw = np.random.PCG64(int.from_bytes(seed[:16])).random_raw(count)
    unit = (np.asarray(raw, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if dtype.kind in "iub":
        low, high = between or (0, 1)
        numbers = np.floor(low + unit * (high - low + 1))
    else:
        low, high = between or (-1.0, 1.0)
        numbers = low + unit * (high - low)
    array: np.ndarray[Any, np.dtype[Any]] = numbers.astype(dtype).reshape(shape)
    return array
