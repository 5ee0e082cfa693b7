"""A ZIP as QNN writes it: stored, sizes in 64 bits, data at even places, checksums left zero.

Found by comparing with files of the plugin and of its deploy tool; written again with the same
records in the same order, such a file has the same bytes. Beside the four numbers that ZIP64 knows,
the extra field of a local header says how many zeros follow and to what the data is aligned.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qnnbuild.formats.zip_records import END, END_64, ENTRY, LOCAL, LOCATOR_64

VERSION = 45  # of the format: ZIP64
LONG = 0xFFFFFFFF  # the number stands in the extra field
EXTRA = struct.Struct("<HHQQQIIQ")  # tag, length; size, stored, place, disk; zeros, alignment
EXTRA_TAG = 1
PAGE, WORD = 4096, 8


@dataclass(frozen=True, kw_only=True)
class NewRecord:
    name: str
    data: memoryview | bytes
    aligned_to: int = PAGE


def zip_of(
    records: Sequence[NewRecord], directory: Sequence[str] | None = None
) -> Iterator[memoryview | bytes]:
    """The file piece by piece; `directory` is the order of names in it, if it is another."""
    at = 0
    places: dict[str, int] = {}
    for record in records:
        places[record.name] = at
        head = _local(record, at)
        yield head
        yield record.data
        at += len(head) + len(record.data)
    sizes = {record.name: len(record.data) for record in records}
    listed = b"".join(_entry(name, sizes[name], places[name]) for name in directory or places)
    yield listed
    yield _end(len(places), len(listed), at)


def _local(record: NewRecord, at: int) -> bytes:
    name = record.name.encode()
    size = len(record.data)
    zeros = -(at + LOCAL.size + len(name) + EXTRA.size) % record.aligned_to
    body = EXTRA.size - 4 + zeros
    extra = EXTRA.pack(EXTRA_TAG, body, size, size, 0, 0, zeros, record.aligned_to)
    head = LOCAL.pack(
        *(b"PK\x03\x04", VERSION, 0, 0, 0, 0, 0, LONG, LONG, len(name), len(extra) + zeros)
    )
    return head + name + extra + bytes(zeros)


def _entry(name: str, size: int, at: int) -> bytes:
    coded = name.encode()
    extra = EXTRA.pack(EXTRA_TAG, EXTRA.size - 4, size, size, at, 0, 0, 0)
    versions = (VERSION, VERSION)
    sizes = (LONG, LONG, len(coded), len(extra))
    head = ENTRY.pack(b"PK\x01\x02", *versions, 0, 0, 0, 0, 0, *sizes, 0, 0, 0, 0, LONG)
    return head + coded + extra


def _end(count: int, length: int, at: int) -> bytes:
    """The directory's own description, twice: with long numbers and, behind it, with short ones."""
    long = END_64.pack(
        b"PK\x06\x06", END_64.size - 12, VERSION, VERSION, 0, 0, count, count, length, at
    )
    locator = LOCATOR_64.pack(b"PK\x06\x07", 0, at + length, 1)
    short = END.pack(b"PK\x05\x06", 0, 0, count, count, length, LONG, 0)
    return long + locator + short
