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

FORMAT = 2
"""The form of the tables. A lower number in the file is brought up, a higher one refused."""

PATIENCE_S = 120.0
"""How long one build waits for another's writing."""

TABLES = """
create table if not exists records(
  key text primary key, digest text not null, record text not null,
  used int not null default 0) without rowid;
create table if not exists last(
  checkout text, name text, key text not null, primary key(checkout, name)) without rowid;
create table if not exists forgotten(
  checkout text, name text, primary key(checkout, name)) without rowid;
create table if not exists stats(
  path text primary key, mtime int, ctime int, size int, inode int, digest text) without rowid;
create table if not exists side_files(
  digest text primary key, names text not null) without rowid;
create table if not exists checkouts(
  checkout text primary key, root text not null, used int not null) without rowid;
create table if not exists elsewhere(
  digest text primary key, size int not null) without rowid;
"""

UPGRADES = {
    1: """
alter table records add column used int not null default 0;
create table checkouts(
  checkout text primary key, root text not null, used int not null) without rowid;
create table if not exists elsewhere(
  digest text primary key, size int not null) without rowid;
""",
}
"""Form → what makes the next one of it. Records of a lower form were never lost."""

DAY_S = 86_400


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
        if found > FORMAT or found < 0:
            raise StoreError(
                f"the store was written by a newer qnnbuild (form {found}, here {FORMAT})",
                facts=[("records", str(self.path))],
                hint="use the qnnbuild that wrote it, or another store (QNNBUILD_STORE)",
            )
        if found < FORMAT:
            _bring_up(db)

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
        with self._writing() as db:
            self._set_last(db, {name: record.key})
            db.execute("insert or replace into records values(?,?,?,?)", _row(record))
            db.execute("delete from forgotten where checkout=? and name=?", (self.checkout, name))

    def take(self, record: Record) -> None:
        """Keep `record`, which nothing here has made or wants as yet."""
        with self._writing() as db:
            db.execute("insert or replace into records values(?,?,?,?)", _row(record))

    def drop(self, *keys: Digest) -> None:
        with self._writing() as db:
            db.executemany("delete from records where key=?", [(key,) for key in keys])

    def last(self) -> dict[str, Digest]:
        """name → the key that it had when it was last found current or made."""
        return dict(self._all("select name, key from last where checkout=?", self.checkout))  # type: ignore[arg-type]

    def set_last(self, keys: Mapping[str, Digest]) -> None:
        with self._writing() as db:
            self._set_last(db, keys)

    def _set_last(self, db: sqlite3.Connection, keys: Mapping[str, Digest]) -> None:
        """What a name leaves was in use until now, and so is what it comes to."""
        now = int(time.time())
        old = [(now, self.checkout, name) for name in keys]
        rows = [(self.checkout, name, key) for name, key in keys.items()]
        db.executemany(
            "update records set used=? where key="
            "(select key from last where checkout=? and name=?)",
            old,
        )
        db.executemany("insert or replace into last values(?,?,?)", rows)
        db.executemany("update records set used=? where key=?", [(now, k) for k in keys.values()])

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

    def size_elsewhere(self, digest: Digest) -> int | None:
        for (size,) in self._all("select size from elsewhere where digest=?", digest):
            return int(size)
        return None

    def keep_elsewhere(self, files: Mapping[Digest, int]) -> None:
        with self._writing() as db:
            db.executemany("insert or replace into elsewhere values(?,?)", list(files.items()))

    def drop_elsewhere(self, digests: Iterable[Digest]) -> None:
        with self._writing() as db:
            db.executemany("delete from elsewhere where digest=?", [(d,) for d in digests])

    # --- what keeps the store ---------------------------------------------------------------

    def rows(self) -> Iterator[tuple[Digest, Digest, str, int]]:
        """Of every record its key, the digest of its text, the text, and when it was last used.

        Seconds since 1970; 0 where a store of an older form did not note it.
        """
        for key, digest, text, used in self._all("select key, digest, record, used from records"):
            yield key, digest, text, int(used)

    def lasts(self) -> dict[str, dict[str, Digest]]:
        """Checkout → name → key, of all checkouts that share the store."""
        found: dict[str, dict[str, Digest]] = {}
        for checkout, name, key in self._all("select checkout, name, key from last"):
            found.setdefault(checkout, {})[name] = key
        return found

    def checkouts(self) -> dict[str, tuple[str, int]]:
        """Checkout → its folder and when it was last built."""
        rows = self._all("select checkout, root, used from checkouts")
        return {checkout: (root, int(used)) for checkout, root, used in rows}

    def keep_checkout(self, root: str) -> None:
        """Note where this checkout lies; at most once a day, since it costs a write."""
        now = int(time.time())
        known = self.checkouts().get(self.checkout)
        if known is None or known[0] != root or not 0 <= now - known[1] < DAY_S:
            with self._writing() as db:
                row = (self.checkout, root, now)
                db.execute("insert or replace into checkouts values(?,?,?)", row)

    def drop_names(self, checkout: str, names: Iterable[str]) -> None:
        """Forget which keys these names of a checkout had last."""
        rows = [(checkout, name) for name in names]
        with self._writing() as db:
            db.executemany("delete from last where checkout=? and name=?", rows)
            db.executemany("delete from forgotten where checkout=? and name=?", rows)

    def drop_checkout(self, checkout: str) -> None:
        with self._writing() as db:
            for table in ("last", "forgotten", "checkouts"):
                db.execute(f"delete from {table} where checkout=?", (checkout,))  # noqa: S608 - ours

    def drop_stats(self, paths: Iterable[str]) -> None:
        with self._writing() as db:
            db.executemany("delete from stats where path=?", [(path,) for path in paths])

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        told = [text for (text,) in self._all("pragma integrity_check")]
        return [] if told == ["ok"] else told

    def shrink(self) -> None:
        """Give the room of dropped rows back; waits for whoever writes."""
        with self._lock:
            try:
                self._db.execute("vacuum")
                self._db.execute("pragma wal_checkpoint(truncate)")
            except sqlite3.Error as error:
                raise self._trouble(error) from error

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _row(record: Record) -> tuple[object, ...]:
    text = record.to_json()
    return record.key, digest_bytes(text.encode()), text, int(time.time())


def _bring_up(db: sqlite3.Connection) -> None:
    """Make the tables, or those of an older form into today's: as a whole or not at all."""
    db.execute("begin immediate")  # another build may be at it
    try:
        (found,) = db.execute("pragma user_version").fetchone()
        texts = [UPGRADES[form] for form in range(found, FORMAT)] if found else [TABLES]
        for statement in ";".join(texts).split(";"):
            if statement.strip():
                db.execute(statement)
        db.execute(f"pragma user_version={FORMAT}")
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


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
