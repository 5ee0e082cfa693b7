"""What tells that a file is as it was without reading it. The gate imports it, and so little."""

from __future__ import annotations

import errno
import os
import stat as modes
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

RACY_NS = 50_000_000
"""Two writes within one tick of the kernel's clock leave equal times, so a file that changed
less than this before it was read is read again next time. Linux ticks at 1 to 10 ms."""

NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


class Signature(NamedTuple):
    """mtime can be set back by anyone, ctime and inode cannot: all together tell a change."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, path: Path | str, *, links: bool = True) -> Signature | None:
        """None when there is no file: a folder or a pipe in its place is none.

        Nor is a link, without `links`.
        """
        try:
            stat = os.stat(path, follow_symlinks=links)
        except OSError as error:
            if error.errno in NO_FILE:
                return None
            raise
        if not modes.S_ISREG(stat.st_mode):
            return None
        return cls(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
