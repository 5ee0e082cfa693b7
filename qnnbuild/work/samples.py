"""Sample inputs: the recipe's .npz files, or numbers that depend on the input's name only."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper

from qnnbuild.work.random_numbers import random_numbers
from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import written
from qnnbuild.work.walk import dtype_of, shape_of

Array = np.ndarray[Any, np.dtype[Any]]
Sample = dict[str, Array]

RANDOM_SAMPLES = 2
MOST_SAMPLES = 8
"""The first files of the recipe that are compared; the verify step runs them all."""


def samples_for(
    model: ModelProto, folder: Path | None, specs: Mapping[str, Mapping[str, Any]]
) -> list[Sample]:
    """What to run `model` on; every sample has all inputs in the model's own types and shapes."""
    if folder is not None:
        files = sorted(folder.rglob("*.npz"))[:MOST_SAMPLES]
        if files:
            return [_read(file, folder, model) for file in files]
    return [
        {
            value.name: random_array(value, specs.get(value.name, {}), turn)
            for value in model.graph.input
        }
        for turn in range(RANDOM_SAMPLES)
    ]


def _read(file: Path, folder: Path, model: ModelProto) -> Sample:
    name = file.relative_to(folder).as_posix()
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as data:
            arrays = {key: data[key] for key in data.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError):
        raise WorkError(f"'{name}' is not a whole .npz file", place="samples") from None
    sample: Sample = {}
    for value in model.graph.input:
        array = arrays.get(value.name)
        if array is None:
            raise WorkError(
                f"'{name}' has no array for the input '{value.name}'",
                place="samples",
                facts=[("its arrays", ", ".join(sorted(arrays)) or "none")],
            )
        if array.shape != shape_of(value):
            raise WorkError(
                f"'{name}': '{value.name}' has the shape {written(array.shape)}",
                place="samples",
                facts=[("wanted", f"{dtype_of(value)} {written(shape_of(value))}")],
            )
        if array.dtype.kind in "fc" and not np.all(np.isfinite(array)):
            raise WorkError(
                f"'{name}': '{value.name}' has values that are not finite", place="samples"
            )
        sample[value.name] = array.astype(_numpy_type(value))
    return sample


def random_array(value: ValueInfoProto, spec: Mapping[str, Any], turn: int) -> Array:
    """Numbers of an input, in the recipe's range where it gives one."""
    shape = [size for size in shape_of(value) or () if isinstance(size, int)]
    return random_numbers(
        value.name, turn, dtype=_numpy_type(value), shape=shape, between=spec.get("range")
    )


def _numpy_type(value: ValueInfoProto) -> np.dtype[Any]:
    return np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
