"""Reads the whole store again: every artifact's bytes, every record. Drops what is damaged."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from qnnbuild.actions.key import key_of
from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest, digest_file
from qnnbuild.engine.garbage import artifacts
from qnnbuild.engine.record_files import read
from qnnbuild.engine.records import Records
from qnnbuild.engine.store import Store, remove


@dataclass(kw_only=True)
class Checked:
    artifacts: int = 0
    read_bytes: int = 0
    records: int = 0
    damaged: list[str] = field(default_factory=list)  # dropped, in words
    mended: list[str] = field(default_factory=list)  # out of what is kept twice
    incomplete: list[str] = field(default_factory=list)  # records whose artifacts are not all there
    database: list[str] = field(default_factory=list)  # what SQLite finds wrong; it is replaced


def check(store: Store, records: Records, seen: Callable[[int], None] = lambda _: None) -> Checked:
    """`seen` is told the bytes of each artifact that was read."""
    told = Checked(database=records.damage())
    whole: dict[Digest, int] = {}
    for path in artifacts(store):
        try:
            found = path.lstat()
            # not by its stat signature: a disk changes bytes without one
            is_whole = stat.S_ISREG(found.st_mode) and digest_file(path) == path.name
        except FileNotFoundError:
            continue  # somebody collects garbage
        if not is_whole:
            told.damaged.append(f"artifact {path.parent.name}/{path.name}")
            remove(path)
            continue
        whole[path.name] = found.st_size
        told.artifacts += 1
        told.read_bytes += found.st_size
        seen(found.st_size)
    _check_records(store, records, whole, told)
    if told.database:
        records.renew(told.database[0])
    return told


def _check_records(store: Store, records: Records, whole: dict[Digest, int], told: Checked) -> None:
    records.find_again()
    damaged = set()
    there = {**records.elsewhere(), **whole}
    for key, digest, text, _ in records.rows():
        record = _record(key, digest, text)
        if record is None:
            damaged.add(key)
            continue
        told.records += 1
        files = [file for tree in record.outputs.values() for file in tree.files.values()]
        if any(there.get(digest) != size and not _came(store, digest) for digest, size in files):
            told.incomplete.append(record.name)
    damaged |= records.files.damaged()
    lost = records.mend(*sorted(damaged))
    if lost and not told.database:  # SQLite cannot be asked for a name that is no text any more
        told.database = ["a record is not what was written"]
    told.damaged += [f"record {key}" for key in lost]
    told.mended += [f"record {key}" for key in sorted(damaged.difference(lost))]


def _came(store: Store, digest: Digest) -> bool:
    """Whether a build has made it since all artifacts were read."""
    return store.path(digest).is_file()


def _record(key: Digest, digest: Digest, text: str) -> Record | None:
    """None when it is not what was written, or not of its key."""
    record = read(key, digest, text)
    return record if record is not None and record.key == key_of(record.parts) else None


def room_left(store: Store) -> int:
    """Free bytes where the store lies."""
    told = os.statvfs(store.root)
    return told.f_bavail * told.f_frsize
