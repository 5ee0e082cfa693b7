"""A model's bytes: taken in from side files, counted, and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import onnx.external_data_helper
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto, numpy_helper

from qnnbuild.work.onnx_files import piece_of, side_pieces
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import tensors

INLINE_LIMIT = 1_800_000_000
"""Bytes up to which a model is one file; protobuf ends at 2 GiB, and ORT's own edits need room."""

HEAVY = 1 << 16
"""Bytes of a tensor from which it is a weight: shapes and the like are smaller."""

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)

MOVED_FROM = 1024
PAGE = 4096


def load_side_files(model: ModelProto, folder: Path, *, below: int | None = None) -> None:
    """Take side files' bytes into the model: all, or those of tensors below a size in bytes."""
    lengths = {piece.tensor: piece.length for piece in side_pieces(model)}
    for tensor in tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL and (
            below is None or lengths[tensor.name] < below
        ):
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]


@contextmanager
def weights_at_hand(model: ModelProto, folder: Path) -> Iterator[None]:
    """Inside, all weights can be read from the model; what is too much stays in its side file.

    onnx's own `to_array` looks for side files in the current folder.
    """
    if stored_bytes(model) <= INLINE_LIMIT:
        load_side_files(model, folder)
        yield
    else:
        with chdir(folder):
            yield


def elements(tensor: TensorProto, folder: Path) -> np.ndarray[Any, np.dtype[Any]]:
    """All elements in a row; those of a side file are mapped, not read."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return numpy_helper.to_array(tensor).ravel()
    piece = piece_of(tensor)
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    return np.memmap(
        folder / piece.location,
        dtype,
        mode="r",
        offset=piece.offset,
        shape=(piece.length // dtype.itemsize,),
    )


def stored_bytes(model: ModelProto) -> int:
    """The size of the model with all its tensors, wherever they are stored; never overflows.

    Of heavy weights the data alone is counted, without a tensor's few bytes of framing.
    """
    inside = sum(len(tensor.raw_data) for tensor in tensors(model))
    outside = sum(piece.length for piece in side_pieces(model))
    if inside > INLINE_LIMIT:
        return outside + inside
    if inside < HEAVY:
        return outside + int(model.ByteSize())
    heavy, light = _without_heavy_weights(model)
    return outside + heavy + int(light.ByteSize())


def _without_heavy_weights(model: ModelProto) -> tuple[int, ModelProto]:
    """How many bytes heavy weights are, and a copy of all else; initializers are not copied."""
    light, heavy = ModelProto(), 0
    for field, value in model.ListFields():
        if field.name != "graph":
            _copy_field(light, field.name, value)
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            _copy_field(light.graph, field.name, value)
    for tensor in model.graph.initializer:
        copy = light.graph.initializer.add()
        if size := _heavy_bytes(tensor):
            heavy += size
            copy.name, copy.data_type = tensor.name, tensor.data_type
            copy.dims.extend(tensor.dims)
        else:
            copy.CopyFrom(tensor)
    return heavy, light


def _copy_field(to: Message, name: str, value: Any) -> None:
    if isinstance(value, Message):
        getattr(to, name).CopyFrom(value)
    elif isinstance(value, str | bytes | int | float):
        setattr(to, name, value)
    else:
        getattr(to, name).MergeFrom(value)


def take_weights(model: ModelProto) -> dict[int, bytes]:
    """Take the data of heavy weights out of the graph; by their place among its initializers.

    For what looks at types and shapes alone, and would encode and decode all weights for it:
    with 200 MB of them `infer_shapes` takes two seconds, and without them a moment.
    """
    taken = {}
    for place, tensor in enumerate(model.graph.initializer):
        if _heavy_bytes(tensor):
            taken[place] = tensor.raw_data
            tensor.ClearField("raw_data")
    return taken


def _heavy_bytes(tensor: TensorProto) -> int:
    """How large the data are; 0 for what is no heavy weight."""
    if tensor.data_type not in FLOATS:  # whole numbers may be what a shape is computed from
        return 0
    size = len(tensor.raw_data)
    return size if size >= HEAVY else 0


def give_weights(model: ModelProto, taken: Mapping[int, bytes]) -> None:
    """Put back what `take_weights` took."""
    for place, data in taken.items():
        model.graph.initializer[place].raw_data = data


def save(model: ModelProto, folder: Path, source: Path) -> None:
    """Write model.onnx, and model.data beside it only when one file cannot hold it all.

    `source` has the side files of tensors that were left outside.
    """
    if stored_bytes(model) > INLINE_LIMIT:
        _move_out(model, folder / "model.data", source)
    else:
        load_side_files(model, source)
    write(model, folder / "model.onnx")


def write(model: ModelProto, path: Path) -> None:
    """Write the model alone; equal models are equal bytes."""
    path.write_bytes(model.SerializeToString(deterministic=True))


def _move_out(model: ModelProto, target: Path, source: Path) -> None:
    """Put the weights into a side file, each at the start of a page so that it can be mapped."""
    with target.open("wb") as out:
        for tensor in model.graph.initializer:
            if tensor.data_location != TensorProto.EXTERNAL and len(tensor.raw_data) < MOVED_FROM:
                continue
            out.write(bytes(-out.tell() % PAGE))
            offset = out.tell()
            if tensor.data_location == TensorProto.EXTERNAL:
                piece = piece_of(tensor)
                with (source / piece.location).open("rb") as file:
                    file.seek(piece.offset)
                    _copy(file, out, piece.length)
            else:
                out.write(tensor.raw_data)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            del tensor.external_data[:]
            said = {"location": target.name, "offset": offset, "length": out.tell() - offset}
            for key, value in said.items():
                tensor.external_data.add(key=key, value=str(value))


def _copy(file: BinaryIO, out: BinaryIO, length: int) -> None:
    while length > 0:
        part = file.read(min(length, 1 << 24))
        if not part:
            raise WorkError("a side file became shorter while it was read")
        out.write(part)
        length -= len(part)
