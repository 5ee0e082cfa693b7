"""Digests of files, read again only when a file's stat signature changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from qnnbuild.digest import Digest, digest_file
from qnnbuild.engine.signature import RACY_NS, Signature

Known = tuple[Signature, Digest]

FEW = 2000
"""Files that are asked for one by one; then all that are known are read, at a fifth of the time."""


class Kept(Protocol):
    """Where digests are kept from build to build."""

    def stat(self, path: str) -> Known | None: ...

    def stats(self) -> Mapping[str, Known]: ...


class Stats:
    """path → (signature, digest): what `kept` has, and what this process learned since.

    Who made it saves its news there.
    """

    def __init__(self, kept: Kept | None = None) -> None:
        self._kept = kept
        self._asked = 0
        self._known: dict[str, Known] = {}
        self._new: dict[str, Known] = {}
        self._lock = threading.Lock()

    def signature(self, path: Path) -> Signature | None:
        return Signature.of(path)

    def digest(self, path: Path, before: Signature | None = None) -> Digest | None:
        """The digest of the file's contents; None when there is no such file.

        `before` is its signature, where that was asked for just now.
        """
        before = before or Signature.of(path)
        if before is None:
            return None
        known = self._find(str(path))
        if known is not None and known[0] == before:
            return known[1]
        began = time.time_ns()
        digest = digest_file(path)
        settled = began - max(before.mtime_ns, before.ctime_ns) > RACY_NS
        if settled and Signature.of(path) == before:
            self._remember(path, before, digest)
        return digest

    def _find(self, path: str) -> Known | None:
        known, kept = self._known.get(path), self._kept
        if known is not None or kept is None or not is_text(path):
            return known
        with self._lock:
            self._asked += 1
            asks_all = self._asked > FEW
        # without the lock: the database may be another build's for a while
        found: Mapping[str, Known | None]
        found = kept.stats() if asks_all else {path: kept.stat(path)}
        with self._lock:
            for name, one in found.items():
                if one is not None:
                    self._known.setdefault(name, one)
            if asks_all:
                self._kept = None
            return self._known.get(path)

    def know(self, path: Path, digest: Digest, signature: Signature | None = None) -> None:
        """Take the digest of a file that this process has just put there.

        `signature` is what it had when nobody else could reach it, where that is known.
        """
        signature = signature or Signature.of(path)
        if signature is not None:
            self._remember(path, signature, digest)

    def _remember(self, path: Path, signature: Signature, digest: Digest) -> None:
        if not is_text(str(path)):  # records are text: such a file is read again each time
            return
        with self._lock:
            self._known[str(path)] = self._new[str(path)] = (signature, digest)

    def news(self) -> dict[str, Known]:
        """What was learned since the last call."""
        with self._lock:
            new, self._new = self._new, {}
            return new


def is_text(name: str) -> bool:
    """Whether a file's name is UTF-8; Linux allows any bytes."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)
