"""The records' SQLite file: opened, brought to today's form, and replaced when it is damaged.

WAL lets several builds write at once; it needs a local disk (a network file system has no shared
memory for it). What SQLite or a bad block makes of the file is no user's concern: it is set aside,
a new one is filled from what is kept beside it, and that is told.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from qnnbuild.errors import Problem, StoreError

SHARED = 64 << 10
"""Bytes: more than SQLite takes for what processes share of a database, which has to lie there."""

PATIENCE_S = 120.0
"""How long one build waits for another's writing."""

OTHER_FOLDER = "give another folder with QNNBUILD_STORE or `store:` in qnnbuild.yaml"
HINTS = {
    sqlite3.SQLITE_FULL: "make room, or give another folder with QNNBUILD_STORE",
    sqlite3.SQLITE_READONLY: OTHER_FOLDER,
    sqlite3.SQLITE_CANTOPEN: OTHER_FOLDER,
    sqlite3.SQLITE_IOERR: "look at the disk (`dmesg`), or " + OTHER_FOLDER,
    sqlite3.SQLITE_BUSY: "another program holds the file: end it, and build again",
}
"""By what a machine can have to say; any other code is about the file's contents."""

DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
"""Nothing but damage is told so; tables that another qnnbuild has changed are told otherwise."""

MACHINE = {
    *HINTS, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_TOOBIG,
}  # fmt: skip

Row = tuple[object, ...]
Change = tuple[str, Iterable[Row]]
"""A statement, and the rows that it is run with."""
T = TypeVar("T")


class Database:
    """`prepare` makes or upgrades the tables; it says how many records it found again."""

    def __init__(
        self,
        path: Path,
        prepare: Callable[[sqlite3.Connection], int],
        tell: Callable[[Problem], None],
    ) -> None:
        self.path = path
        self._prepare = prepare
        self._tell = tell
        self._lock = threading.RLock()
        self._file: tuple[int, int] | None = None  # device and inode of what is open
        try:
            self._db = self._open()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._put_right(error)

    def all(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return self._tried(lambda: self._db.execute(query, values).fetchall())

    def write(self, *changes: Change) -> None:
        """All of it in one commit, or nothing."""
        listed = [(query, rows) for query, some in changes if (rows := list(some))]
        if listed:
            self._tried(lambda: self._commit(listed))

    def shrink(self) -> None:
        """Give the room of dropped rows back; waits for whoever writes."""
        self._tried(lambda: self._db.execute("vacuum"))
        self._tried(lambda: self._db.execute("pragma wal_checkpoint(truncate)"))

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _commit(self, changes: list[tuple[str, list[Row]]]) -> None:
        with committed(self._db):
            for query, rows in changes:
                self._db.executemany(query, rows)

    def _tried(self, do: Callable[[], T]) -> T:
        try:
            with self._lock:
                try:
                    return do()
                except (sqlite3.Error, UnicodeDecodeError) as error:
                    self._put_right(error)
                return do()
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    # --- opening ----------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        with self._held(fcntl.LOCK_SH):
            db, again = self._opened()
        if again:
            self._warn("the store's database of records was gone", again)
        return db

    def _opened(self) -> tuple[sqlite3.Connection, int]:
        db = sqlite3.connect(
            self.path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
        )
        try:
            self._file = _identity(self.path)
            # a damaged text is to be found by its digest, not by its letters
            db.text_factory = lambda data: data.decode(errors="replace")
            _turn_to_wal(db)
            db.execute("pragma synchronous=normal")
            again = self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db, again

    @contextmanager
    def _held(self, how: int) -> Iterator[None]:
        """Nobody opens the file while another replaces it: its parts are found by their names."""
        if str(self.path) == ":memory:":
            yield
            return
        try:
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDONLY | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(
                f"the store cannot be used: {error.strerror}",
                facts=[("store", str(self.path.parent))],
                hint=HINTS[sqlite3.SQLITE_FULL] if _is_full(error) else OTHER_FOLDER,
            ) from error
        try:
            fcntl.flock(lock, how)
            yield
        finally:
            os.close(lock)

    # --- damage -----------------------------------------------------------------------------

    def _put_right(self, error: sqlite3.Error | UnicodeDecodeError) -> None:
        """Go on with a new file, or raise what is not about the file's contents."""
        if not self._is_damage(error):
            raise self._trouble(error) from error
        self._check_form(error)
        self.replace(str(error))

    def _check_form(self, error: sqlite3.Error | UnicodeDecodeError) -> None:
        """Raises StoreError when a newer qnnbuild has brought up the tables that are open here."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & 0xFF not in DAMAGE and hasattr(self, "_db"):
            with suppress(sqlite3.Error):  # no form can be read: it is damaged, as was thought
                self._prepare(self._db)

    def replace(self, why: str) -> None:
        """Set the file aside and go on with a new one."""
        if hasattr(self, "_db"):
            self._db.close()
        with self._held(fcntl.LOCK_EX):
            # another build may have been here first
            aside = self._set_aside() if _identity(self.path) == self._file else None
            try:
                self._db, again = self._opened()
            except sqlite3.Error as another:
                raise self._trouble(another) from another
        if aside:
            self._warn(f"the store's database of records was damaged: {why}", again, aside)

    def _is_damage(self, error: sqlite3.Error | UnicodeDecodeError) -> bool:
        if isinstance(error, UnicodeDecodeError):  # SQLite's own words quote the file
            return True
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            return False
        if code & 0xFF == sqlite3.SQLITE_READONLY:
            # one bit of the file's head says so, too
            return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        return code & 0xFF not in MACHINE

    def _set_aside(self) -> str:
        """Keep it for whoever wants to look."""
        aside = f"{self.path.name}.damaged-{time.time_ns()}"
        for suffix in ("-shm", "-wal", ""):
            part = self.path.with_name(self.path.name + suffix)
            if part.exists():
                part.rename(part.with_name(aside + suffix))
        return aside

    def _warn(self, message: str, again: int, aside: str | None = None) -> None:
        facts = [("database", str(self.path)), ("found again", f"{again} records")]
        hint = "nothing else was lost: go on"
        if aside:
            facts.append(("set aside", aside))
            hint = f"look at the disk (`dmesg`), then remove {aside}"
        problem = Problem(message=message, facts=tuple(facts), hint=hint, severity="warning")
        self._tell(problem)

    def _trouble(self, error: Exception) -> StoreError:
        code, said = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)
        if code == sqlite3.SQLITE_IOERR and self._has_no_room():
            code, said = sqlite3.SQLITE_FULL, "the disk is full"
        return StoreError(
            f"the store's records cannot be used: {said}",
            facts=[("records", str(self.path))],
            hint=HINTS.get(code),
        )

    def _has_no_room(self) -> bool:
        """SQLite tells of the disk as broken when there is no room for what it shares."""
        try:
            return shutil.disk_usage(self.path.parent).free < SHARED
        except OSError:  # then it is the disk itself
            return False


@contextmanager
def committed(db: sqlite3.Connection) -> Iterator[None]:
    """One commit, or nothing."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        # a full disk ends a transaction by itself, and what went wrong first is what to tell
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("rollback")
        raise


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_dev, there.st_ino


def _is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


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
