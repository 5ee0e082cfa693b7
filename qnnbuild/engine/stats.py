"""Digests of files, read again only when a file's stat signature changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

from qnnbuild.digest import Digest, digest_file
from qnnbuild.engine.signature import RACY_NS, Signature


class Stats:
    """path → (signature, digest). Loaded from and saved to the records by their owner."""

    def __init__(self, known: Mapping[str, tuple[Signature, Digest]] | None = None) -> None:
        self._known = dict(known or {})
        self._new: dict[str, tuple[Signature, Digest]] = {}
        self._lock = threading.Lock()

    def signature(self, path: Path) -> Signature | None:
        return Signature.of(path)

    def digest(self, path: Path) -> Digest | None:
        """The digest of the file's contents; None when there is no such file."""
        before = Signature.of(path)
        if before is None:
            return None
        known = self._known.get(str(path))
        if known is not None and known[0] == before:
            return known[1]
        began = time.time_ns()
        digest = digest_file(path)
        settled = began - max(before.mtime_ns, before.ctime_ns) > RACY_NS
        if settled and Signature.of(path) == before:
            self._remember(path, before, digest)
        return digest

    def know(self, path: Path, digest: Digest) -> None:
        """Take the digest of a file that this process has just put there, read-only."""
        signature = Signature.of(path)
        if signature is not None:
            self._remember(path, signature, digest)

    def _remember(self, path: Path, signature: Signature, digest: Digest) -> None:
        if not is_text(str(path)):  # records are text: such a file is read again each time
            return
        with self._lock:
            self._known[str(path)] = self._new[str(path)] = (signature, digest)

    def news(self) -> dict[str, tuple[Signature, Digest]]:
        """What was learned since the last call."""
        with self._lock:
            new, self._new = self._new, {}
            return new


def is_text(name: str) -> bool:
    """Whether a file's name is UTF-8; Linux allows any bytes."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
