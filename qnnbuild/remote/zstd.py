"""Zstandard streams in both directions, with bounds on what a stranger's may become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

import zstandard

PART = 1 << 18
LARGEST_WINDOW = 1 << 27


def packed(file: BinaryIO) -> Iterator[bytes]:
    """The file's bytes, compressed; the same parts each time."""
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    while part := file.read(PART):
        if data := packer.compress(part):
            yield data
    yield packer.flush()


def unpacked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes out of a compressed stream, a little at a time however much it may become.

    Raises zstandard.ZstdError when it is no such stream.
    """
    unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
    joined = cast("BinaryIO", _Joined(parts))  # of a file it reads only
    with unpacker.stream_reader(joined, read_across_frames=True) as reader:
        while part := reader.read(PART):
            yield part


class _Joined:
    """What comes in messages, as a file."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return b""
            self._rest = part
        if size < 0:
            size = len(self._rest)
        data, self._rest = self._rest[:size], self._rest[size:]
        return data
