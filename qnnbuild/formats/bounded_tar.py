"""Tar archives of strangers: what a few bytes promise takes neither the memory nor the disk.

tarfile reads a member's long name or its list of attributes with one call, however long the header
says that it is, and compressed zeros become a thousand times as many.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

LARGEST_BLOCK = (64 << 20) + 512
"""What may be read at once: names, attributes, and records of a store as a whole."""

RATIO = 300
AT_LEAST = 4 << 30
"""What an archive may become, whatever its ratio: no model whose weights are not all the same
packs better than a few times.
"""

OPENERS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))


def most_bytes(packed: int) -> int:
    """How many bytes may come out of an archive, or a member of it, of so many."""
    return max(AT_LEAST, RATIO * packed)


class Bomb(tarfile.ReadError):
    """It would take more than anything of its size can be."""


@contextmanager
def open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Raises TarError, and what the unpackers raise, where it is damaged or a bomb."""
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        begins = file.read(6)
        file.seek(0)
        opener = next((o for magic, o in OPENERS if begins.startswith(magic)), None)
        plain = file if opener is None else stack.enter_context(cast("Any", opener)(file, "rb"))
        bounded = _Bounded(plain, most_bytes(path.stat().st_size))
        archive = tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:")  # noqa: SIM115
        yield stack.enter_context(archive)


class _Bounded:
    """What tarfile reads and seeks in."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self.file = file
        self.most = most
        self.name = None

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_BLOCK:
            raise Bomb(f"a name or list of attributes of {size:,} bytes")
        data = self.file.read(size)
        self._check(self.file.tell())
        return data

    def seek(self, at: int, whence: int = 0) -> int:
        self._check(at)
        return self.file.seek(at, whence)

    def tell(self) -> int:
        return self.file.tell()

    def _check(self, at: int) -> None:
        if at > self.most:
            raise Bomb(f"it unfolds to more than {self.most >> 30} GiB")
