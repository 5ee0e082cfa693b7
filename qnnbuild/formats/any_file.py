"""Look at the first bytes and read whatever it is."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

from qnnbuild.formats.context_binary import ContextFacts, may_be_context_binary, read_context_binary
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts, as_ctx_onnx
from qnnbuild.formats.dlc import DlcFacts, read_dlc
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.onnx_file import OnnxFacts, may_be_onnx
from qnnbuild.formats.zip_records import ZIP_MAGIC

FileFacts = ContextFacts | CtxOnnxFacts | DlcFacts | OnnxFacts


@dataclass(frozen=True, kw_only=True)
class Stranger:
    """Something that often stands where a model should."""

    begins: bytes
    at: int = 0
    says: str


STRANGERS = (
    Stranger(begins=b"version https://git-lfs", says="a Git LFS pointer: git lfs pull"),
    Stranger(begins=b"<!doctype html", says="a web page, not a model: the download went wrong"),
    Stranger(begins=b"<html", says="a web page, not a model: the download went wrong"),
    Stranger(begins=b"\x7felf", says="a program or shared library, such as a QNN model library"),
    Stranger(begins=b"tfl3", at=4, says="a TFLite model"),
    Stranger(begins=b"\x1f\x8b", says="packed by gzip: unpack it first"),
    Stranger(begins=b"bzh", says="packed by bzip2: unpack it first"),
    Stranger(begins=b"\xfd7zxz", says="packed by xz: unpack it first"),
    Stranger(begins=b"\x89hdf", says="an HDF5 file"),
)  # fmt: skip


def read_any(path: Path) -> FileFacts:
    """Raises FormatError for a file that is not known or not whole, OSError as reading does."""
    if path.is_dir():
        raise FormatError("a folder, not a file")
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            raise FormatError("empty")
        # Left to the collector: closing raises as long as a traceback holds a part of it.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return read_bytes(memoryview(mapped))


def read_bytes(data: memoryview) -> FileFacts:
    """The facts of a file's contents."""
    head = bytes(data[:64])
    if head.startswith(ZIP_MAGIC):
        return read_dlc(data)
    if may_be_context_binary(data):
        return read_context_binary(data)
    if may_be_onnx(data):
        return as_ctx_onnx(data)
    raise FormatError(_what_it_is(head))


def _what_it_is(head: bytes) -> str:
    folded = head.lower()
    for stranger in STRANGERS:
        if folded[stranger.at :].startswith(stranger.begins):
            return stranger.says
    if not head.strip(b"\0"):
        return "it begins with zeros: damaged, or never written to its end"
    return "not a context binary, ctx.onnx, DLC or ONNX file"
