"""Records in SQLite: one commit per finished action, so a kill loses nothing that was paid for.

WAL lets several builds write at once; it needs a local disk (a network file system has no shared
memory for it).
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.engine.stats import Signature
from qnnbuild.errors import StoreError

FORMAT = 1
"""The form of the tables. Another number in the file means another qnnbuild's records."""

PATIENCE_S = 120.0
"""How long one build waits for another's writing."""

TABLES = """
create table if not exists records(
  key text primary key, digest text not null, record text not null) without rowid;
create table if not exists last(
  checkout text, name text, key text not null, primary key(checkout, name)) without rowid;
create table if not exists forgotten(
  checkout text, name text, primary key(checkout, name)) without rowid;
create table if not exists stats(
  path text primary key, mtime int, ctime int, size int, inode int, digest text) without rowid;
create table if not exists side_files(
  digest text primary key, names text not null) without rowid;
"""

LATER = """
create table if not exists elsewhere(
  digest text primary key, size int not null) without rowid;
"""
"""Came later, to stores of the same form."""


class Records:
    """`checkout` tells the folders apart that share the store: names are theirs, keys are not."""

    def __init__(self, path: Path, checkout: str) -> None:
        self.path = path
        self.checkout = checkout
        self._lock = threading.RLock()
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise self._trouble(error) from error
            self._set_aside()
            self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        _turn_to_wal(db)
        db.execute("pragma synchronous=normal")
        (found,) = db.execute("pragma user_version").fetchone()
        if found not in (0, FORMAT):
            raise StoreError(
                f"the store was written by another qnnbuild (form {found}, here {FORMAT})",
                facts=[("records", str(self.path))],
                hint="use the qnnbuild that wrote it, or another store (QNNBUILD_STORE)",
            )
        if found == 0:
            db.executescript(TABLES)
            db.execute(f"pragma user_version={FORMAT}")
        db.executescript(LATER)

    def _set_aside(self) -> None:
        """A file that is no database holds no records; keep it for whoever wants to look."""
        for suffix in ("", "-wal", "-shm"):
            part = self.path.with_name(self.path.name + suffix)
            if part.exists():
                part.rename(part.with_name(f"{self.path.name}.damaged-{time.time_ns()}{suffix}"))

    def _trouble(self, error: sqlite3.Error) -> StoreError:
        damaged = type(error) is sqlite3.DatabaseError
        return StoreError(
            f"the store's records cannot be used: {error}",
            facts=[("records", str(self.path))],
            hint="move the file away: everything is built again then" if damaged else None,
        )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                self._db.execute("begin immediate")
                try:
                    yield self._db
                except BaseException:
                    self._db.execute("rollback")
                    raise
                self._db.execute("commit")
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _all(self, query: str, *values: object) -> list[tuple[str, ...]]:
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def get(self, key: Digest) -> Record | None:
        """The record of `key`; one that is not what was written counts as none."""
        for digest, text in self._all("select digest, record from records where key=?", key):
            if digest_bytes(text.encode()) == digest:
                try:
                    return Record.from_json(text)
                except ValueError:  # another qnnbuild's form; making it again is always right
                    return None
        return None

    def put(self, record: Record, name: str) -> None:
        """Keep `record` and that `name` was made by it last."""
        text = record.to_json()
        row = (record.key, digest_bytes(text.encode()), text)
        last = (self.checkout, name, record.key)
        with self._writing() as db:
            db.execute("insert or replace into records values(?,?,?)", row)
            db.execute("insert or replace into last values(?,?,?)", last)
            db.execute("delete from forgotten where checkout=? and name=?", (self.checkout, name))

    def drop(self, key: Digest) -> None:
        with self._writing() as db:
            db.execute("delete from records where key=?", (key,))

    def last(self) -> dict[str, Digest]:
        """name → the key that it had when it was last found current or made."""
        return dict(self._all("select name, key from last where checkout=?", self.checkout))  # type: ignore[arg-type]

    def set_last(self, keys: Mapping[str, Digest]) -> None:
        rows = [(self.checkout, name, key) for name, key in keys.items()]
        with self._writing() as db:
            db.executemany("insert or replace into last values(?,?,?)", rows)

    def forget(self, names: Iterable[str]) -> None:
        rows = [(self.checkout, name) for name in names]
        with self._writing() as db:
            db.executemany("insert or replace into forgotten values(?,?)", rows)

    def forgotten(self) -> set[str]:
        rows = self._all("select name from forgotten where checkout=?", self.checkout)
        return {name for (name,) in rows}

    def stats(self) -> dict[str, tuple[Signature, Digest]]:
        rows = self._all("select path, mtime, ctime, size, inode, digest from stats")
        return {path: (Signature(*map(int, four)), digest) for path, *four, digest in rows}

    def keep_stats(self, stats: Mapping[str, tuple[Signature, Digest]]) -> None:
        rows = [(path, *signature, digest) for path, (signature, digest) in stats.items()]
        with self._writing() as db:
            db.executemany("insert or replace into stats values(?,?,?,?,?,?)", rows)

    def side_files(self, digest: Digest) -> tuple[str, ...] | None:
        for (names,) in self._all("select names from side_files where digest=?", digest):
            return tuple(json.loads(names))
        return None

    def keep_side_files(self, digest: Digest, names: tuple[str, ...]) -> None:
        with self._writing() as db:
            db.execute("insert or replace into side_files values(?,?)", (digest, json.dumps(names)))

    def elsewhere(self) -> dict[Digest, int]:
        """The artifacts that a remote cache had when a record came from it → their size."""
        rows = self._all("select digest, size from elsewhere")
        return {digest: int(size) for digest, size in rows}

    def keep_elsewhere(self, files: Mapping[Digest, int]) -> None:
        with self._writing() as db:
            db.executemany("insert or replace into elsewhere values(?,?)", list(files.items()))

    def drop_elsewhere(self, digests: Iterable[Digest]) -> None:
        with self._writing() as db:
            db.executemany("delete from elsewhere where digest=?", [(d,) for d in digests])

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _turn_to_wal(db: sqlite3.Connection) -> None:
    """SQLite's own patience does not hold here, and builds open a new store at once."""
    end = time.monotonic() + PATIENCE_S
    while not _is_turned(db, end):
        time.sleep(0.01)


def _is_turned(db: sqlite3.Connection, end: float) -> bool:
    try:
        db.execute("pragma journal_mode=wal")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
            raise
        return False
    return True
