"""A model library read back: the graph that its source described, and its weights."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from pathlib import Path
from typing import NamedTuple

from tests.standin.tools.meta import Meta
from tests.standin.tools.model_files import MARK

WEIGHTS_MARK = b"QNNSTANDIN-WEIGHTS:"
X86_64 = 62


class UnreadableError(Exception):
    """The loader would not take it."""


class Model(NamedTuple):
    meta: Meta
    weights: bytes


def weights_blob(weights: bytes) -> bytes:
    """What is linked: the tar behind a mark and its size."""
    return WEIGHTS_MARK + struct.pack("<Q", len(weights)) + weights


def read(path: Path) -> Model:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise UnreadableError(str(problem)) from problem
    if data[:4] != b"\x7fELF" or len(data) < 64:
        raise UnreadableError(f"{path}: invalid ELF header")
    if struct.unpack_from("<H", data, 18)[0] != X86_64:
        raise UnreadableError(f"{path}: cannot open shared object file: wrong ELF class")
    found = re.search(MARK.encode() + rb"([A-Za-z0-9+/=]+)\0", data)
    if not found:
        raise UnreadableError(f"{path}: undefined symbol: QnnModel_composeGraphs")
    try:
        meta = json.loads(base64.b64decode(found.group(1), validate=True))
    except (ValueError, binascii.Error) as problem:
        raise UnreadableError(f"{path}: {problem}") from problem
    at = data.find(WEIGHTS_MARK)
    if meta["statics"] and at < 0:
        first = meta["statics"][0]["name"]
        raise UnreadableError(f"{path}: undefined symbol: _binary_obj_binary_{first}_raw_start")
    if at < 0:
        return Model(meta, b"")
    begin = at + len(WEIGHTS_MARK) + 8
    size = struct.unpack_from("<Q", data, begin - 8)[0]
    return Model(meta, data[begin : begin + size])
