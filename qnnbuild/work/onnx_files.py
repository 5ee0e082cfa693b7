"""ONNX files as they come: wholeness and side files, checked before anything else reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.mapped import mapped
from qnnbuild.work.first_bytes import look
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import tensors, texts

_IN_A_BYTE = {"INT4": 2, "UINT4": 2, "FLOAT4E2M1": 2, "INT2": 4, "UINT2": 4}
"""How many elements of the small types share a byte."""

KNOWN_TYPES = frozenset(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}


@dataclass(frozen=True, kw_only=True)
class SidePiece:
    """The bytes of one tensor in a side file."""

    location: str
    offset: int
    length: int
    tensor: str


def read_whole(folder: Path, file: str = "model.onnx", *, shown: str | None = None) -> ModelProto:
    """The model without its side files' bytes, when it and they are whole; else a WorkError."""
    model = read(folder / file, shown=shown)
    check_side_files(model, folder)
    return model


def read(path: Path, *, shown: str | None = None) -> ModelProto:
    """The model without its side files' bytes. `shown` is the user's name for the file."""
    name = shown or path.name
    look(path, shown=name)
    model = ModelProto()
    try:
        model.ParseFromString(mapped(path))
        whole = model.HasField("graph") and bool(model.opset_import)
    except (DecodeError, FormatError):
        whole = False
    if not whole:
        raise WorkError(
            f"'{name}' is not a whole ONNX file",
            facts=[("size", f"{path.stat().st_size} bytes")],
            hint="it may be cut short: get it again and compare its size and sha256",
        )
    _check_texts(model, name)
    return model


def _check_texts(model: ModelProto, name: str) -> None:
    """protobuf gives a text that is no UTF-8 as bytes, which nobody behind this counts on."""
    bad = next((text for text in texts(model) if not isinstance(text, str)), None)
    if bad is not None:
        raise WorkError(
            f"'{name}' has a name that is no text in UTF-8",
            facts=[("name", repr(bad[:80]))],
            hint="it is damaged, or what wrote it is: save the model again with onnx.save",
        )


def side_pieces(model: ModelProto) -> Iterator[SidePiece]:
    """What the model takes from side files, as it says."""
    for tensor in tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            yield piece_of(tensor)


def piece_of(tensor: TensorProto) -> SidePiece:
    """What one tensor takes from its side file."""
    said = {entry.key: entry.value for entry in tensor.external_data}
    try:
        offset, length = int(said.get("offset", "0")), int(said.get("length", "-1"))
    except ValueError:
        offset = length = -1
    if offset < 0 or length < -1:
        raise WorkError(
            f"tensor '{tensor.name}' does not say where in its side file it is",
            facts=sorted(said.items()),
            hint="save the model again with onnx.save",
        )
    return SidePiece(
        location=said.get("location", ""),
        offset=offset,
        length=max(length, _bytes_of(tensor)),
        tensor=tensor.name,
    )


def _bytes_of(tensor: TensorProto) -> int:
    """How many bytes the shape and type need."""
    if tensor.data_type not in KNOWN_TYPES or any(size < 0 for size in tensor.dims):
        raise WorkError(
            f"tensor '{tensor.name}' is of a type or size that ONNX does not know",
            facts=[("type", str(tensor.data_type)), ("sizes", str(list(tensor.dims[:8])))],
            hint="save the model again with onnx.save",
        )
    count: int = math.prod(tensor.dims)
    a_byte = _IN_A_BYTE.get(TensorProto.DataType.Name(tensor.data_type))
    if a_byte:
        return -(-count // a_byte)
    if tensor.data_type == TensorProto.STRING:
        return 0
    return count * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def check_side_files(model: ModelProto, folder: Path) -> None:
    """Every side file is a real file inside `folder` with all the bytes that the model takes."""
    needed: dict[str, SidePiece] = {}
    for piece in side_pieces(model):
        known = needed.get(piece.location)
        if known is None or piece.offset + piece.length > known.offset + known.length:
            needed[piece.location] = piece
    for location, last in needed.items():
        check_location(location, tensor=last.tensor)
        _check_side_file(folder, last)


def side_files(model: ModelProto) -> list[str]:
    """The names of the side files, each checked to be relative and inside."""
    locations: dict[str, str] = {}
    for piece in side_pieces(model):
        locations.setdefault(piece.location, piece.tensor)
    for location, tensor in locations.items():
        check_location(location, tensor=tensor)
    return sorted(locations)


def check_location(location: str, *, tensor: str) -> None:
    """A side file's name must be a relative path below the model's folder, written with `/`."""
    facts = [("tensor", tensor), ("side file", location)]
    again = "save the model again with onnx.save, its side file beside it"
    if not location:
        raise WorkError(
            f"tensor '{tensor}' names no side file", facts=[("tensor", tensor)], hint=again
        )
    if location.startswith("/") or PureWindowsPath(location).drive:
        raise WorkError(
            f"the model names its side file by an absolute path: '{location}'",
            facts=facts,
            hint=again,
        )
    if "\\" in location:
        raise WorkError(
            f"the side file's name has a backslash: '{location}'",
            facts=facts,
            hint="it was written on Windows, where that is a folder; " + again,
        )
    if ".." in location.split("/"):
        raise WorkError(
            f"the side file's name leaves the model's folder with '..': '{location}'",
            facts=facts,
            hint=again,
        )


def _check_side_file(folder: Path, last: SidePiece) -> None:
    path = folder / last.location
    facts = [("tensor", last.tensor)]
    try:
        real = path.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(folder, last) from None
    except (RuntimeError, OSError):  # Python 3.12 and older raise RuntimeError for a loop of links
        raise WorkError(
            f"side file '{last.location}' is a link that leads to itself", facts=facts
        ) from None
    if not real.is_relative_to(folder.resolve()):
        raise WorkError(
            f"side file '{last.location}' is a link out of the model's folder",
            facts=facts,
            hint="put a real copy of the file beside the model",
        )
    if not real.is_file():
        raise WorkError(f"side file '{last.location}' is not a file", facts=facts)
    size, wanted = real.stat().st_size, last.offset + last.length
    if size < wanted:
        _told_short(real, last, size, wanted)


def _missing(folder: Path, last: SidePiece) -> WorkError:
    beside = sorted(p.name for p in folder.iterdir() if p.is_file() and p.suffix != ".onnx")
    hint = f"put it beside the model under the name '{last.location}'"
    name = last.location.rsplit("/", 1)[-1]
    if "/" in last.location and name in beside:
        hint = (
            f"'{name}' is beside the model, which names it by the folders (an absolute path?) of "
            "where it was saved: save it again with onnx.save"
        )
    return WorkError(
        f"side file '{last.location}' is missing",
        facts=[("tensor", last.tensor), ("beside the model", ", ".join(beside) or "nothing")],
        hint=hint,
    )


def _told_short(real: Path, last: SidePiece, size: int, wanted: int) -> None:
    hint = "get the file again: what is missing would silently become zeros"
    if 0 < size < 512:
        text = real.read_bytes().decode(errors="replace").strip()
        if text.startswith("version https://git-lfs"):
            hint = "it is a Git LFS pointer: run git lfs pull"
        elif text.isascii() and text.isprintable():
            hint = f"it holds only the text '{text}', as a link does where links cannot be made"
    raise WorkError(
        f"side file '{last.location}' is cut short: {size} of {wanted} bytes",
        facts=[("tensor", last.tensor)],
        hint=hint,
    )
