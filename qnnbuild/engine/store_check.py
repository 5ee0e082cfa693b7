"""Reads the whole store again: every artifact's bytes, every record. Drops what is damaged."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from qnnbuild.actions.key import key_of
from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest, digest_bytes, digest_file
from qnnbuild.engine.garbage import artifacts
from qnnbuild.engine.records import Records
from qnnbuild.engine.store import Store, remove


@dataclass(kw_only=True)
class Checked:
    artifacts: int = 0
    read_bytes: int = 0
    records: int = 0
    damaged: list[str] = field(default_factory=list)  # dropped, in words
    incomplete: list[str] = field(default_factory=list)  # records whose artifacts are not all there
    database: list[str] = field(default_factory=list)  # what SQLite finds wrong


def check(store: Store, records: Records, seen: Callable[[int], None] = lambda _: None) -> Checked:
    """`seen` is told the bytes of each artifact that was read."""
    told = Checked(database=records.damage())
    whole: dict[Digest, int] = {}
    for path in artifacts(store):
        # not by its stat signature: a disk changes bytes without one
        if path.is_symlink() or not path.is_file() or digest_file(path) != path.name:
            told.damaged.append(f"artifact {path.parent.name}/{path.name}")
            remove(path)
            continue
        size = path.stat().st_size
        whole[path.name] = size
        told.artifacts += 1
        told.read_bytes += size
        seen(size)
    _check_records(records, whole, told)
    return told


def _check_records(records: Records, whole: dict[Digest, int], told: Checked) -> None:
    bad = []
    there = {**records.elsewhere(), **whole}
    for key, digest, text, _ in records.rows():
        record = _record(key, digest, text)
        if record is None:
            bad.append(key)
            told.damaged.append(f"record {key}")
            continue
        told.records += 1
        files = [file for tree in record.outputs.values() for file in tree.files.values()]
        if any(there.get(digest) != size for digest, size in files):
            told.incomplete.append(record.name)
    records.drop(*bad)


def _record(key: Digest, digest: Digest, text: str) -> Record | None:
    """None when it is not what was written, or not of its key."""
    if digest_bytes(text.encode()) != digest:
        return None
    try:
        record = Record.from_json(text)
    except ValueError:
        return None
    return record if record.key == key == key_of(record.parts) else None


def room_left(store: Store) -> int:
    """Free bytes where the store lies."""
    told = os.statvfs(store.root)
    return told.f_bavail * told.f_frsize
