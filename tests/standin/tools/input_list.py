"""Lists of raw files: one sample a line, the inputs apart by one blank, paths from the cwd."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.standin.tools.log import RefusedError
from tests.standin.tools.meta import Meta
from tests.standin.tools.onnx_graph import NUMPY

Sample = dict[str, Any]  # arrays by the input's name in the graph, in the graph's layout


def read(
    path: Path, inputs: Sequence[Meta], *, native: bool, batches: bool = False
) -> list[Sample]:
    """Bytes are taken as they stand: a CR or a byte order mark spoils a name, as in the SDK."""
    if not path.is_file():
        raise RefusedError(f"Cannot open input list file: {path}")
    samples = []
    lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    for at, line in enumerate(lines):
        if not line or (at == 0 and line[0] in "#%"):
            continue
        samples.append(_sample(line, inputs, native=native, batches=batches))
    if not samples:
        raise RefusedError(f"No inputs in input list file: {path}")
    return samples


def _sample(line: str, inputs: Sequence[Meta], *, native: bool, batches: bool) -> Sample:
    words = line.split(" ")
    if len(words) != len(inputs):
        raise RefusedError(
            f"Number of files in input list line ({len(words)}) does not match the number of "
            f"inputs of the graph ({len(inputs)}): {line!r}"
        )
    by_name = {i["name"]: i for i in inputs} | {i["source"]: i for i in inputs}
    sample: Sample = {}
    for at, word in enumerate(words):
        name, named, file = word.partition(":=")
        if named and name not in by_name:
            raise RefusedError(f"Input {name!r} of the input list is not an input of the graph")
        tensor = by_name[name] if named else inputs[at]
        sample[tensor["name"]] = _raw(Path(file if named else word), tensor, native, batches)
    return sample


def _raw(path: Path, tensor: Meta, native: bool, batches: bool) -> Any:
    if not path.is_file():
        raise RefusedError(f"Unable to open input raw file: {str(path)!r}")
    data = path.read_bytes()
    count = int(np.prod(tensor["dims"], dtype=np.int64))
    own = NUMPY[tensor["dtype"]]
    allowed: list[np.dtype[Any]] = [own] if native else [np.dtype("float32")]
    if native and tensor["source_dtype"] == "int64" and own == np.dtype("int32"):
        allowed.append(np.dtype("int64"))  # which of the two the SDK reads is not known
    for dtype in allowed:
        size = count * dtype.itemsize
        if len(data) == size or (batches and data and len(data) % size == 0):
            return np.frombuffer(data, dtype.newbyteorder("<")).reshape(-1, *tensor["dims"])
    raise RefusedError(
        f"Size of raw file {path} is {len(data)} bytes, input {tensor['name']} needs "
        f"{count * allowed[0].itemsize}"
    )


def to_source(value: Any, tensor: Meta) -> Any:
    """One array of the graph's layout in the layout and dtype of the ONNX model."""
    back = np.argsort(tensor["order"])
    return np.ascontiguousarray(value.transpose(back)).astype(tensor["source_dtype"])
