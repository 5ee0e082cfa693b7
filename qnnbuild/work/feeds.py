"""Calibration samples as the calibrate step leaves them: one .npz a sample, in order."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.work.run import WorkError

Array = np.ndarray[Any, np.dtype[Any]]


def feed_files(folder: Path) -> list[Path]:
    """The samples' files in their order; never none."""
    files = sorted(folder.rglob("*.npz"))
    if not files:
        raise WorkError("there are no samples to calibrate with", place="calibration", exit_code=2)
    return files


def read_feeds(files: Sequence[Path], inputs: Sequence[str]) -> Iterator[dict[str, Array]]:
    """One sample after the other, so that memory does not grow with their number."""
    for file in files:
        try:
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as data:
                yield {name: data[name] for name in inputs}
        except KeyError as error:
            raise WorkError(
                f"the sample '{file.name}' lacks an input", place="calibration",
                facts=[("it says", str(error.args[0]))],
            ) from None  # fmt: skip
        except (ValueError, OSError, zipfile.BadZipFile, EOFError):
            raise WorkError(
                f"the sample '{file.name}' is not a whole .npz file", place="calibration"
            ) from None
