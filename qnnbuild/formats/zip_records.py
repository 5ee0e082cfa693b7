"""The records of a ZIP as QNN writes it: stored, aligned to pages, its CRC fields zero.

Python's zipfile refuses such records for their CRC; here only the places and sizes matter.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats.format_error import FormatError

ZIP_MAGIC = b"PK\x03\x04"
END = struct.Struct("<4sHHHHIIH")
END_64 = struct.Struct("<4sQHHIIQQQQ")
LOCATOR_64 = struct.Struct("<4sIQI")
ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
LOCAL = struct.Struct("<4sHHHHHIIIHH")
LONG_COMMENT = 65557  # the end record with the longest comment a ZIP may have
MAX_RECORDS = 100_000
MAX_INFLATED = 64 << 20


@dataclass(frozen=True, kw_only=True)
class ZipRecord:
    name: str
    size: int
    stored: int  # bytes in the file
    method: int  # 0 stored, 8 deflated
    header_at: int


def read_records(data: memoryview) -> tuple[ZipRecord, ...]:
    """All records in the order of their data. Raises FormatError when it is not whole."""
    return tuple(sorted(read_directory(data), key=lambda record: record.header_at))


def read_directory(data: memoryview) -> tuple[ZipRecord, ...]:
    """All records in the order in which the directory lists them, which is another."""
    return tuple(record for _, record in read_entries(data))


def read_entries(data: memoryview) -> Iterator[tuple[int, ZipRecord]]:
    """Each with the place of its entry in the directory."""
    if bytes(data[:4]) != ZIP_MAGIC:
        raise FormatError("not a ZIP: it does not begin as one")
    count, at = _directory(data)
    if count > MAX_RECORDS:
        raise FormatError(f"damaged: a directory of {count} records")
    for _ in range(count):
        record, following = _entry(data, at)
        yield at, record
        at = following


def record_data(data: memoryview, record: ZipRecord) -> memoryview:
    """The contents; a deflated record is unpacked up to a limit."""
    header = _unpack(LOCAL, data, record.header_at)
    if header[0] != ZIP_MAGIC:
        raise FormatError(f"damaged: no record where '{record.name}' should begin")
    start = record.header_at + LOCAL.size + header[9] + header[10]
    if start + record.stored > len(data):
        raise FormatError(
            f"cut short: '{record.name}' would end at byte {start + record.stored} "
            f"of a file of {len(data)}"
        )
    stored = data[start : start + record.stored]
    if record.method == 0:
        return stored
    if record.method != 8:
        raise FormatError(
            f"'{record.name}' is packed by method {record.method}, which is not known"
        )
    try:
        return memoryview(zlib.decompressobj(-15).decompress(stored, MAX_INFLATED))
    except zlib.error as error:
        raise FormatError(f"damaged: '{record.name}' cannot be unpacked ({error})") from None


def _directory(data: memoryview) -> tuple[int, int]:
    """How many records the directory lists, and where it begins."""
    tail_at = max(0, len(data) - LONG_COMMENT)
    end_at = bytes(data[tail_at:]).rfind(b"PK\x05\x06")
    if end_at < 0:
        raise FormatError("cut short: a ZIP without its directory")
    end_at += tail_at
    _, _, _, _, count, _, at, _ = _unpack(END, data, end_at)
    if count != 0xFFFF and at != 0xFFFFFFFF:
        return count, at
    locator_at = end_at - LOCATOR_64.size
    magic, _, end_64_at, _ = _unpack(LOCATOR_64, data, locator_at)
    if magic != b"PK\x06\x07":
        return count, at
    end_64 = _unpack(END_64, data, end_64_at)
    if end_64[0] != b"PK\x06\x06":
        raise FormatError("damaged: the ZIP's directory is not where it should be")
    return end_64[7], end_64[9]


def _entry(data: memoryview, at: int) -> tuple[ZipRecord, int]:
    fields = _unpack(ENTRY, data, at)
    if fields[0] != b"PK\x01\x02":
        raise FormatError("damaged: the ZIP's directory is broken")
    method, stored, size = fields[4], fields[8], fields[9]
    name_length, extra_length, comment_length, header_at = (
        fields[10],
        fields[11],
        fields[12],
        fields[16],
    )
    name_at = at + ENTRY.size
    extra_at = name_at + name_length
    following = extra_at + extra_length + comment_length
    if following > len(data):
        raise FormatError("cut short: the ZIP's directory is not whole")
    size, stored, header_at = _long(
        bytes(data[extra_at : extra_at + extra_length]), size, stored, header_at
    )
    name = bytes(data[name_at:extra_at]).decode("utf-8", "replace")
    return ZipRecord(
        name=name, size=size, stored=stored, method=method, header_at=header_at
    ), following


def _long(extra: bytes, *short: int) -> tuple[int, int, int]:
    """The 64-bit values in place of those that say that they are too long for 32."""
    values = list(short)
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<HH", extra, at)
        body = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if tag != 1:
            continue
        for index, value in enumerate(values):
            if value == 0xFFFFFFFF and len(body) >= 8:
                values[index] = struct.unpack_from("<Q", body)[0]
                body = body[8:]
    return values[0], values[1], values[2]


def _unpack(form: struct.Struct, data: memoryview, at: int) -> tuple[Any, ...]:
    if at < 0 or at + form.size > len(data):
        raise FormatError("cut short: the ZIP's structure leads outside the file")
    return form.unpack_from(data, at)
