"""gc: takes out of the store what nobody needs any more. Safe while builds run.

Reachable is what a living checkout had last under a name that its recipes still plan. A record
that is not stays for some days, because going back to yesterday's recipe should cost nothing.
Whoever loses something all the same makes it again: a record whose artifacts are gone is stale.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest
from qnnbuild.engine.leases import Build, living
from qnnbuild.engine.records import DAY_S, Records
from qnnbuild.engine.store import Store, remove

GRACE_S = 3600
"""What is younger stays in any case: an action may be between its artifacts and its record."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    keep_days: float = 14.0  # how long a record stays that is not reachable
    max_bytes: int | None = None  # of all artifacts; the longest unused go first, then reachable
    names: Collection[str] | None = None  # that this checkout's recipes plan; None: all it had
    dry_run: bool = False


@dataclass(kw_only=True)
class Collected:
    """What went, or would go."""

    records: int = 0
    artifacts: int = 0
    freed_bytes: int = 0
    logs: int = 0
    environments: int = 0
    checkouts: int = 0
    kept_records: int = 0
    kept_bytes: int = 0
    reachable_dropped: int = 0  # for the sake of max_bytes
    builds: int = 0  # that ran meanwhile
    over_bytes: int = 0  # beyond max_bytes, held by builds that run


@dataclass(frozen=True, kw_only=True)
class Row:
    key: Digest
    noted: int  # its last use, as the record's row has it
    used: float
    files: Mapping[Digest, int]
    reachable: bool
    held: bool  # by a build that runs now


@dataclass(kw_only=True)
class Room:
    """The artifacts that records name, each counted once, while records go one by one."""

    here: Collection[Digest]  # others are with a remote cache only, and take no room
    users: dict[Digest, int] = field(default_factory=dict)
    total: int = 0

    def add(self, row: Row) -> None:
        for digest, size in row.files.items():
            if self.users.setdefault(digest, 0) == 0:
                self.total += size if digest in self.here else 0
            self.users[digest] += 1

    def take(self, row: Row) -> None:
        for digest, size in row.files.items():
            self.users[digest] -= 1
            if self.users[digest] == 0:
                self.total -= size if digest in self.here else 0

    def has(self, digest: Digest) -> bool:
        return self.users.get(digest, 0) > 0


def collect(store: Store, records: Records, rules: Rules) -> Collected:
    """Apply `rules` to what `store` and `records` hold."""
    leases = living(store.root)
    records.find_again()
    told = Collected(builds=len(leases))
    began = min([time.time(), *(lease.began_ns / 1e9 for lease in leases)])
    gone = _forsaken(records, leases, rules)
    here = {path.name for path in artifacts(store)}
    rows = _rows(records, gone, leases, rules)
    dropped, room = _chosen(rows, Room(here=here), rules, began, told)
    if not rules.dry_run:
        for checkout in gone:
            records.drop_checkout(checkout)
        if rules.names is not None:
            ours = records.lasts().get(records.checkout, {})
            records.drop_names(records.checkout, ours.keys() - set(rules.names))
        dropped = _drop_records(records, rows, dropped, room)
    told.kept_records, told.kept_bytes = len(rows) - len(dropped), room.total
    told.records, told.checkouts = len(dropped), len(gone)
    _drop_artifacts(store, room, began - GRACE_S, rules, told)
    kept = {row.key for row in rows} - dropped
    _drop_logs(store, kept, min(began, time.time() - rules.keep_days * DAY_S), rules, told)
    if not leases:  # an environment is used without a word in the records
        _drop_environments(store, rules, told)
    if not rules.dry_run:
        _forget_stats(store, records)
        records.drop_elsewhere([d for d in records.elsewhere() if not room.has(d)])
        if not leases:
            records.shrink()
    return told


def _forsaken(records: Records, leases: Iterable[Build], rules: Rules) -> list[str]:
    """Checkouts whose folder is gone, and nameless ones that nobody has built for a while."""
    alive = {records.checkout, *(lease.checkout for lease in leases)}
    known, now = records.checkouts(), time.time()
    gone = [c for c, (root, _) in known.items() if c not in alive and not os.path.isdir(root)]
    # of a store that is older than the table; it gets its row when it is built next
    first = min((used for _, used in known.values()), default=now)
    if now - first > rules.keep_days * DAY_S:
        gone += [c for c in records.lasts() if c not in alive and c not in known]
    return gone


def _rows(
    records: Records, gone: Collection[str], leases: Iterable[Build], rules: Rules
) -> list[Row]:
    building = {lease.checkout for lease in leases}
    reachable: set[Digest] = set()
    held: set[Digest] = set()
    for checkout, names in records.lasts().items():
        if checkout in building:
            held.update(names.values())
        if checkout in gone:
            continue
        ours = checkout == records.checkout and rules.names is not None
        wanted = set(rules.names or ()) if ours else names.keys()
        reachable.update(key for name, key in names.items() if name in wanted)
    return [
        Row(
            key=key,
            noted=used,
            used=used or _made(text),
            files=_files(text),
            reachable=key in reachable,
            held=key in held,
        )
        for key, _, text, used in records.rows()
    ]


def _made(text: str) -> float:
    try:
        return datetime.fromisoformat(Record.from_json(text).made).timestamp()
    except ValueError:
        return 0.0


def _files(text: str) -> dict[Digest, int]:
    """Of a record that cannot be read, none: nobody can use it."""
    try:
        outputs = Record.from_json(text).outputs
    except ValueError:
        return {}
    return dict(file for tree in outputs.values() for file in tree.files.values())


def _chosen(
    rows: Iterable[Row], room: Room, rules: Rules, began: float, told: Collected
) -> tuple[set[Digest], Room]:
    """The keys that go, and the room that the others take."""
    cutoff = min(began, time.time() - rules.keep_days * DAY_S)
    dropped: set[Digest] = set()
    kept = []
    for row in rows:
        if row.reachable or row.held or row.used >= cutoff:
            room.add(row)
            kept.append(row)
        else:
            dropped.add(row.key)
    if rules.max_bytes is None:
        return dropped, room
    for row in sorted(kept, key=lambda row: (row.reachable, row.used)):
        if room.total <= rules.max_bytes:
            break
        if not row.held and row.used < began:
            room.take(row)
            dropped.add(row.key)
            told.reachable_dropped += row.reachable
    told.over_bytes = max(0, room.total - rules.max_bytes)
    return dropped, room


def _drop_records(
    records: Records, rows: Iterable[Row], dropped: Collection[Digest], room: Room
) -> set[Digest]:
    """Those that went: a build that began meanwhile may have come to one of `dropped`."""
    going = [row for row in rows if row.key in dropped]
    gone = records.drop_unused({row.key: row.noted for row in going})
    for row in going:
        if row.key not in gone:
            room.add(row)
    return gone


def _drop_artifacts(store: Store, room: Room, before: float, rules: Rules, told: Collected) -> None:
    for path in artifacts(store):
        if room.has(path.name):
            continue
        if rules.dry_run:
            found = _found(path)
            freed = found.st_size if found is not None and found.st_mtime < before else 0
        else:
            freed = store.discard(path.name, int(before * 1e9))
        told.artifacts += freed > 0
        told.freed_bytes += freed


def _found(path: Path) -> os.stat_result | None:
    """None when somebody took it just now."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def artifacts(store: Store) -> Iterator[Path]:
    """What lies where artifacts do, whatever it is."""
    for folder in sorted((store.root / "artifacts").glob("*")):
        if folder.is_dir() and not folder.is_symlink():
            yield from sorted(folder.iterdir())


def _drop_logs(
    store: Store, kept: Collection[Digest], before: float, rules: Rules, told: Collected
) -> None:
    """Logs of records that went, and of failures that nobody has repeated."""
    for path in (store.root / "logs").glob("*/*"):
        key, found = path.name.partition(".")[0], _found(path)
        if key not in kept and found is not None and found.st_mtime < before:
            told.logs += 1
            told.freed_bytes += found.st_size
            if not rules.dry_run:
                path.unlink(missing_ok=True)


def _drop_environments(store: Store, rules: Rules, told: Collected) -> None:
    before = time.time() - max(rules.keep_days * DAY_S, GRACE_S)
    for folder in (store.root / "envs").glob("*"):
        if folder.lstat().st_mtime < before:
            told.environments += 1
            told.freed_bytes += size_of(folder)
            if not rules.dry_run:
                remove(folder)


def size_of(folder: Path) -> int:
    """Bytes of all files in it."""
    if not folder.is_dir() or folder.is_symlink():
        return folder.lstat().st_size
    return sum(
        os.lstat(os.path.join(here, name)).st_size
        for here, _, names in os.walk(folder)
        for name in names
    )


def _forget_stats(store: Store, records: Records) -> None:
    """Stat signatures of artifacts that are gone."""
    inside = f"{store.root}{os.sep}"
    gone = [p for p in records.stats() if p.startswith(inside) and not os.path.lexists(p)]
    records.drop_stats(gone)
