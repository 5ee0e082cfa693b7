"""Raw files as sherpa-onnx's scripts write them → one npz for each sample, as the ONNX file has it.

The scripts write what the converter will read: where it makes an input channel-last, the raw file
is channel-last, and nothing in it says so. An npz holds each array under the name of its input and
in the order of its dimensions, and qnnbuild turns it into what the converter really made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx

Order = tuple[int, ...]
CHANNELS_MOVED: Order = (0, 2, 1)
"""A raw file of [N, T, C] for an input of [N, C, T], or the other way round."""


class Samples:
    """The samples of one graph; `orders`: place of an input → how its raw files lie."""

    def __init__(self, model: Path, folder: Path, orders: Mapping[int, Order]) -> None:
        graph = onnx.load(model, load_external_data=False).graph
        weights = {tensor.name for tensor in graph.initializer}
        self._inputs = [value for value in graph.input if value.name not in weights]
        self._folder = folder
        self._orders = orders
        self._count = 0
        folder.mkdir(parents=True)

    def add_list(self, file: Path) -> None:
        """All samples of an input list: one a line, its files in the order of the inputs."""
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                self.add([file.parent / name for name in line.split()])

    def add(self, files: Sequence[Path]) -> None:
        if len(files) != len(self._inputs):
            names = ", ".join(value.name for value in self._inputs)
            raise SystemExit(f"{len(files)} files for the inputs {names}")
        arrays = {
            value.name: self._array(place, file)
            for place, (value, file) in enumerate(zip(self._inputs, files, strict=True))
        }
        np.savez(self._folder / f"{self._count:05}.npz", **arrays)
        self._count += 1

    def _array(self, place: int, file: Path) -> np.ndarray:
        kind = self._inputs[place].type.tensor_type
        shape = [one.dim_value for one in kind.shape.dim]
        order = self._orders.get(place, tuple(range(len(shape))))
        held = np.fromfile(file, dtype=onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        if held.size != np.prod(shape, dtype=int):
            raise SystemExit(f"{file.name} holds {held.size} numbers for an input of {shape}")
        lying = held.reshape([shape[axis] for axis in order])
        return np.ascontiguousarray(lying.transpose(np.argsort(order)))
