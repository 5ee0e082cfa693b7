"""The times of day in a DLC, set to one that is always the same, so that its bytes are too.

Seen in DLCs of ONNX Runtime's plugin: records have no date, their checksums are zero, and those
called dlc.metadata… tell in JSON when the file was made. What the SDK's own tools write there
nobody describes, so both places are looked at, and a checksum that is kept is made anew.
"""

from __future__ import annotations

import re
import struct
import zlib

from qnnbuild.formats.zip_records import LOCAL, ZipRecord, read_entries, record_data

TIME_OF_DAY = re.compile(rb'"timestamp": "\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"')
NO_TIME = b'"timestamp": "1980-01-01 00:00:00 UTC"'
"""As long as the other."""

TOLD_IN = "dlc."
"""Begins the names of the records that are JSON."""

NO_DATE = struct.pack("<HH", 0, 1 << 5 | 1)
"""The first day that a ZIP can tell."""

LOCAL_TIME, LOCAL_CRC = 10, 14
ENTRY_TIME, ENTRY_CRC = 12, 16


def clear_times(data: memoryview) -> None:
    """Change them where they stand. Raises FormatError when the file is not whole."""
    for entry_at, record in list(read_entries(data)):
        contents = _contents(data, record)
        if contents is not None:
            head = LOCAL.unpack_from(data, record.header_at)
            at = record.header_at + LOCAL.size + int(head[9]) + int(head[10])
            data[at : at + record.stored] = contents
        _head(data, record.header_at, LOCAL_TIME, LOCAL_CRC, contents)
        _head(data, entry_at, ENTRY_TIME, ENTRY_CRC, contents)


def _contents(data: memoryview, record: ZipRecord) -> bytes | None:
    """Those without the time, where there is one. What is packed is left as it is."""
    if record.method or not record.name.startswith(TOLD_IN):
        return None
    contents = bytes(record_data(data, record))
    plain = TIME_OF_DAY.sub(NO_TIME, contents)
    return plain if plain != contents else None


def _head(data: memoryview, at: int, time_at: int, crc_at: int, contents: bytes | None) -> None:
    if bytes(data[at + time_at : at + time_at + 4]) != bytes(4):
        data[at + time_at : at + time_at + 4] = NO_DATE
    kept = struct.unpack_from("<I", data, at + crc_at)[0]
    if contents is not None and kept:
        struct.pack_into("<I", data, at + crc_at, zlib.crc32(contents))
