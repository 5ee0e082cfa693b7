"""Look at the first bytes and read whatever it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from qnnbuild.formats.chrome_trace import ChromeTraceFacts, read_chrome_trace
from qnnbuild.formats.context_binary import ContextFacts, may_be_context_binary, read_context_binary
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts, as_ctx_onnx
from qnnbuild.formats.dlc import DlcFacts, read_dlc
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import OnnxFacts, may_be_onnx
from qnnbuild.formats.op_trace import OpTraceFacts, read_op_trace
from qnnbuild.formats.profile_csv import ProfileFacts, is_profile, read_profile
from qnnbuild.formats.zip_records import ZIP_MAGIC

FileFacts = (
    ContextFacts
    | CtxOnnxFacts
    | DlcFacts
    | OnnxFacts
    | OpTraceFacts
    | ProfileFacts
    | ChromeTraceFacts
)


@dataclass(frozen=True, kw_only=True)
class Stranger:
    """Something that often stands where a model should."""

    begins: bytes
    at: int = 0
    says: str


MOST_BEFORE = 4096
"""Bytes in which a JSON file says what it is."""

STRANGERS = (
    Stranger(begins=b"version https://git-lfs", says="a Git LFS pointer: git lfs pull"),
    Stranger(begins=b"<!doctype html", says="a web page, not a model: the download went wrong"),
    Stranger(begins=b"<html", says="a web page, not a model: the download went wrong"),
    Stranger(begins=b"\x7felf", says="a program or shared library, such as a QNN model library"),
    Stranger(begins=b"tfl3", at=4, says="a TFLite model"),
    Stranger(begins=b"\x1f\x8b", says="packed by gzip: unpack it first"),
    Stranger(begins=b"bzh", says="packed by bzip2: unpack it first"),
    Stranger(begins=b"\xfd7zxz", says="packed by xz: unpack it first"),
    Stranger(
        begins=b"# python_pprint_graph_summary",
        says="a schematic: qnn-profile-viewer --schematic reads it",
    ),
    Stranger(begins=b"\x89hdf", says="an HDF5 file"),
)  # fmt: skip


def read_any(path: Path) -> FileFacts:
    """Raises FormatError for a file that is not known or not whole, OSError as reading does."""
    if path.is_dir():
        raise FormatError("a folder, not a file")
    return read_bytes(mapped(path))


def read_bytes(data: memoryview) -> FileFacts:
    """The facts of a file's contents."""
    head = bytes(data[:64])
    if head.startswith(ZIP_MAGIC):
        return read_dlc(data)
    if may_be_context_binary(data):
        return read_context_binary(data)
    if is_profile(head):
        return read_profile(data)
    if head.lstrip()[:1] in (b"{", b"["):
        return _json(data)
    if may_be_onnx(data):
        return as_ctx_onnx(data)
    raise FormatError(_what_it_is(head))


def _json(data: memoryview) -> OpTraceFacts | ChromeTraceFacts:
    begins = bytes(data[:MOST_BEFORE])
    if b'"traceEvents"' in begins or begins.lstrip().startswith(b"["):
        return read_chrome_trace(data)
    if b'"schema_version"' in begins or b'"backend_type"' in begins:
        return read_op_trace(data)
    raise FormatError("JSON, but no op trace and no Chrome trace")


def _what_it_is(head: bytes) -> str:
    folded = head.lower()
    for stranger in STRANGERS:
        if folded[stranger.at :].startswith(stranger.begins):
            return stranger.says
    if not head.strip(b"\0"):
        return "it begins with zeros: damaged, or never written to its end"
    return "not a context binary, ctx.onnx, DLC, ONNX file, op trace or profile"
