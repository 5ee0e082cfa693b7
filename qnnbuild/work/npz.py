""".npz files: written as the same bytes everywhere, read without running anything of theirs."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can tell."""

UNIX = 3
READABLE = 0o100644 << 16


def write_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    """Uncompressed, in the order given, without times: equal arrays are equal bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", EARLIEST)
            member.create_system, member.external_attr = UNIX, READABLE
            plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
            with file.open(member, "w", force_zip64=plain.nbytes >= 1 << 31) as stream:
                np.lib.format.write_array(stream, plain, version=(1, 0), allow_pickle=False)


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of a file that `write_npz` made, in its order."""
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}
