"""FlatBuffers written back to front from nested values: enough for a context's description."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Number(NamedTuple):
    form: str
    value: float


class Inline(NamedTuple):
    """A struct in place, of words."""

    words: Sequence[int]


class Words(NamedTuple):
    """A vector of 32-bit numbers."""

    values: Sequence[int]


Table = Mapping[int, Any]  # by field: Number, Inline, Words, str, bytes, a Table, a list of Tables


def buffer(table: Table, identifier: bytes = b"") -> bytes:
    """The file: its first word says where the root table begins."""
    out = bytearray(4) + identifier
    struct.pack_into("<I", out, 0, _table(out, table))
    return bytes(out)


def _table(out: bytearray, table: Table) -> int:
    """Appends the table and then what it points to; offsets only lead forward."""
    fields = max(table, default=-1) + 1
    vtable = _pad(out, 2)
    out += bytes(4 + 2 * fields)
    start = _pad(out, 4)
    out += struct.pack("<i", start - vtable)
    links = []
    for field, value in table.items():
        at = _pad(out, 4)
        if isinstance(value, Number):
            out += struct.pack(f"<{value.form}", value.value)
        elif isinstance(value, Inline):
            out += struct.pack(f"<{len(value.words)}I", *value.words)
        else:
            out += bytes(4)
            links.append((at, value))
        struct.pack_into("<H", out, vtable + 4 + 2 * field, at - start)
    struct.pack_into("<HH", out, vtable, 4 + 2 * fields, len(out) - start)
    for at, value in links:
        struct.pack_into("<I", out, at, _linked(out, value) - at)
    return start


def _linked(out: bytearray, value: Any) -> int:
    if isinstance(value, Mapping):
        return _table(out, value)
    start = _pad(out, 4)
    if isinstance(value, str):
        value = value.encode()
        out += struct.pack("<I", len(value)) + value + b"\0"
    elif isinstance(value, bytes):
        out += struct.pack("<I", len(value)) + value
    elif isinstance(value, Words):
        count = len(value.values)
        out += struct.pack(f"<{count + 1}I", count, *value.values)
    else:
        out += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for number, table in enumerate(value):
            place = start + 4 + 4 * number
            struct.pack_into("<I", out, place, _table(out, table) - place)
    return start


def _pad(out: bytearray, to: int) -> int:
    out += bytes(-len(out) % to)
    return len(out)
