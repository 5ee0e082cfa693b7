"""A shared library that a loader takes, made without a compiler: no code, and what it needs."""

from __future__ import annotations

import struct
from collections.abc import Sequence

PAGE = 0x1000
LOAD, DYNAMIC = 1, 2
READ_WRITE = 6
NEEDED, HASH, STRINGS, SYMBOLS, STRINGS_SIZE, SYMBOL_SIZE = 1, 4, 5, 6, 10, 11
X86_64, LIBRARY = 62, 3


def loadable(needs: Sequence[str] = ()) -> bytes:
    """Its only segment is the whole file; the loader writes into the dynamic section."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in needs)
    begin = 64 + 2 * 56
    hashes = begin + 24  # behind the one symbol, which is none
    texts = hashes + 16
    dynamic = (texts + len(strings) + 7) // 8 * 8
    entries = [(NEEDED, strings.index(name.encode() + b"\0")) for name in needs]
    entries += [(HASH, hashes), (STRINGS, texts), (SYMBOLS, begin)]
    entries += [(STRINGS_SIZE, len(strings)), (SYMBOL_SIZE, 24), (0, 0)]
    end = dynamic + 16 * len(entries)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", LIBRARY, X86_64, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    parts = struct.pack("<IIQQQQQQ", LOAD, READ_WRITE, 0, 0, 0, end, end, PAGE)
    size = end - dynamic
    parts += struct.pack("<IIQQQQQQ", DYNAMIC, READ_WRITE, dynamic, dynamic, dynamic, size, size, 8)
    body = bytes(24) + struct.pack("<IIII", 1, 1, 0, 0) + strings
    data = (head + parts + body).ljust(dynamic, b"\0")
    return data + b"".join(struct.pack("<QQ", *entry) for entry in entries)
