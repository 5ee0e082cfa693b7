"""Large files that an action hands on as it was given them: what they are is known already.

A fetch moves the source's copy into its output, a bundle the binary that it ships. To read hundreds
of megabytes once more would tell what was told when the copy was made.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import NamedTuple

from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest

LARGE = 1 << 24
"""Bytes of a file from which there is something to save."""

LONG_AGO_NS, FOR_YEARS_NS = 631_152_000 * 10**9, 315_576_000 * 10**9
"""From 1990 to 1999: no clock gives that to a file that somebody writes to now."""


class _Known(NamedTuple):
    digest: Digest
    size: int
    mtime_ns: int


class AsGiven:
    """The copies that one action was given. They get times of their own, which nobody can guess.

    Whoever writes to one gives it the time of now, and who then sets it back sets it to a time
    that people have agreed on. Only what asks for the time before and gives just that would not be
    seen, so this is for code of ours and not for tools.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Known] = {}

    def given(self, folder: Path, tree: Tree) -> None:
        """`tree` has been copied into `folder` just now."""
        for inside, (digest, size) in tree.files.items():
            if size < LARGE:
                continue
            path = folder / inside
            mtime_ns = LONG_AGO_NS + secrets.randbelow(FOR_YEARS_NS)
            os.utime(path, ns=(mtime_ns, mtime_ns))
            stat = os.stat(path)
            self._known[stat.st_dev, stat.st_ino] = _Known(digest, size, stat.st_mtime_ns)

    def digest(self, path: Path) -> Digest | None:
        """Of a file that is one of them, and as it was; else None."""
        stat = os.stat(path)
        known = self._known.get((stat.st_dev, stat.st_ino))
        if known is None or (known.size, known.mtime_ns) != (stat.st_size, stat.st_mtime_ns):
            return None
        return known.digest
