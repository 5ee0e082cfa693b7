"""Each record once more as a file of its own: what the database loses is read from there.

A page of the database holds many records, and a cut or a bad block takes all of them. A file is
written beside and renamed, and its first line is the digest of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.engine.small_file import NotSmall, read_small
from qnnbuild.engine.store import place

FOLDER = "records"


class RecordFiles:
    """`records/ab/<key>.json` below the store's root. Without a root nothing is ever there."""

    def __init__(self, root: Path | None) -> None:
        self.root = root

    def keep(self, record: Record) -> None:
        path = self._path(record.key)
        if path is not None:
            text = record.to_json().encode()
            place(path, f"{digest_bytes(text)}\n".encode() + text)

    def get(self, key: Digest) -> Record | None:
        """None when there is no whole record of `key`."""
        path = self._path(key)
        if path is None:
            return None
        try:
            digest, _, text = read_small(path).partition(b"\n")
        except (OSError, NotSmall):  # none; or a bad block, which is as good as none
            return None
        return read(key, digest.decode(errors="replace"), text.decode(errors="replace"))

    def drop(self, keys: Iterable[Digest]) -> None:
        for key in keys:
            path = self._path(key)
            if path is not None:
                path.unlink(missing_ok=True)

    def known(self) -> set[Digest]:
        """Of all files that are there, whole or not."""
        if self.root is None:
            return set()
        return {path.stem for path in (self.root / FOLDER).glob("*/*.json")}

    def damaged(self) -> set[Digest]:
        """Whose file is there and cannot be read."""
        unread = {key for key in self.known() if self.get(key) is None}
        # what was dropped just now is not damaged
        return {key for key in unread if (path := self._path(key)) and path.exists()}

    def whole(self, keys: Iterable[Digest]) -> Iterator[Record]:
        """Those of `keys` that can be read."""
        found = (self.get(key) for key in sorted(keys))
        return (record for record in found if record is not None)

    def _path(self, key: Digest) -> Path | None:
        return None if self.root is None else self.root / FOLDER / key[:2] / f"{key}.json"


def read(key: object, digest: object, text: object) -> Record | None:
    """None when it is not what was written for `key`, or of another qnnbuild's form."""
    if not isinstance(text, str) or digest_bytes(text.encode(errors="replace")) != digest:
        return None
    try:
        record = Record.from_json(text)
    except ValueError:  # making it again is always right
        return None
    return record if record.key == key else None
