"""Records in SQLite: one commit per finished action, so a kill loses nothing that was paid for."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.engine.closure import Imported
from qnnbuild.engine.database import Change, Database, Row, committed
from qnnbuild.engine.record_files import RecordFiles, read
from qnnbuild.engine.signature import Signature
from qnnbuild.errors import Problem, StoreError

FORMAT = 4
"""The form of the tables. A lower number in the file is brought up, a higher one refused."""

IMPORTS = """
drop table if exists imports;
create table imports(
  digest text primary key, found text not null, sum int) without rowid;
"""

LEARNED = f"""
drop table if exists stats;
create table stats(
  path text primary key, mtime int, ctime int, size int, inode int, digest text, sum int
  ) without rowid;
drop table if exists side_files;
create table side_files(
  digest text primary key, names text not null, sum int) without rowid;
{IMPORTS}
"""
"""What can be found out again. A wrong row would be a wrong key, so each has its check sum."""

TABLES = f"""
create table if not exists records(
  key text primary key, digest text not null, record text not null,
  used int not null default 0) without rowid;
create table if not exists last(
  checkout text, name text, key text not null, primary key(checkout, name)) without rowid;
create table if not exists forgotten(
  checkout text, name text, primary key(checkout, name)) without rowid;
{LEARNED}
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
    2: LEARNED,
    3: IMPORTS,
}
"""Form → what makes the next one of it. Records of a lower form were never lost."""

LEFT = "update records set used=? where key=(select key from last where checkout=? and name=?)"
PUT = "insert or replace into records values(?,?,?,?)"
PEAKS = (
    "select coalesce(json_extract(r.record, '$.peak_bytes'), 0)"
    " from last l join records r on r.key=l.key and json_valid(r.record)"
)

SECONDS = (
    "select l.name, json_extract(r.record, '$.seconds')"
    " from last l join records r on r.key=l.key and json_valid(r.record)"
)
NAMES_AT_ONCE = 500
"""SQLite takes so many values and more in one statement, wherever it was compiled."""

STATS = "select path, mtime, ctime, size, inode, digest, sum from stats"
DAY_S = 86_400


class Records:
    """`checkout` tells the folders apart that share the store: names are theirs, keys are not.

    `tell` hears what was put right.
    """

    def __init__(
        self, path: Path, checkout: str, tell: Callable[[Problem], None] = lambda _: None
    ) -> None:
        self.path = path
        self.checkout = checkout
        self.files = RecordFiles(None if str(path) == ":memory:" else path.parent)
        self._db = Database(path, self._prepare, tell)
        self._is_closed = False

    def _prepare(self, db: sqlite3.Connection) -> int:
        """Bring the tables to today's form; how many records a new file got out of others."""
        (found,) = db.execute("pragma user_version").fetchone()
        # written with it, and by nobody else: a number of two that differ is damaged
        (witness,) = db.execute("pragma application_id").fetchone()
        if found == FORMAT:
            return 0
        if witness == FORMAT:
            db.execute(f"pragma user_version={FORMAT}")
            return 0
        if found > FORMAT or found < 0:
            raise StoreError(
                f"the store was written by a newer qnnbuild (form {found}, here {FORMAT})",
                facts=[("records", str(self.path))],
                hint="use the qnnbuild that wrote it, or another store (QNNBUILD_STORE)",
            )
        with committed(db):  # another build may be at it
            return self._bring_up(db)

    def _bring_up(self, db: sqlite3.Connection) -> int:
        (found,) = db.execute("pragma user_version").fetchone()
        if found == FORMAT:
            return 0
        texts = [UPGRADES[form] for form in range(found, FORMAT)] if found else [TABLES]
        for statement in ";".join(texts).split(";"):
            if statement.strip():
                db.execute(statement)
        db.execute(f"pragma user_version={FORMAT}")
        db.execute(f"pragma application_id={FORMAT}")
        if found:
            for key, digest, text in db.execute("select key, digest, record from records"):
                record = read(key, digest, text)
                if record is not None:
                    self.files.keep(record)
            return 0
        rows = [_row(record) for record in self.files.whole(self.files.known())]
        db.executemany(PUT, rows)
        return len(rows)

    def get(self, key: Digest) -> Record | None:
        """The record of `key`; one that is not what was written counts as none."""
        for digest, text in self._db.all("select digest, record from records where key=?", key):
            record = read(key, digest, text)
            if record is not None:
                return record
        record = self.files.get(key)
        if record is not None:
            self._db.write((PUT, [_row(record)]))
        return record

    def put(self, record: Record, name: str) -> None:
        """Keep `record` and that `name` was made by it last."""
        self.files.keep(record)
        self._db.write(
            *self._lasts({name: record.key}),
            (PUT, [_row(record)]),
            ("delete from forgotten where checkout=? and name=?", [(self.checkout, name)]),
        )

    def take(self, record: Record) -> None:
        """Keep `record`, which nothing here has made or wants as yet."""
        self.files.keep(record)
        self._db.write((PUT, [_row(record)]))

    def peak(self, name: str) -> int | None:
        """How much memory, in bytes, the run took that `name` was made by last."""
        found = self._db.all(f"{PEAKS} where l.checkout=? and l.name=?", self.checkout, name)
        return _number(found[0][0]) if found else None

    def peaks(self, beginning: str) -> list[int]:
        """The same of all names that begin so; no order, and of very many a part."""
        query = f"{PEAKS} where l.checkout=? and l.name>=? and l.name<? limit 1000"
        found = self._db.all(query, self.checkout, beginning, f"{beginning}\U0010ffff")
        return [_number(peak) for (peak,) in found]

    def seconds(self, names: Collection[str]) -> dict[str, float]:
        """What the run took that each was made by last; names that never ran are not in it."""
        found: dict[str, float] = {}
        wanted = tuple(names)
        for at in range(0, len(wanted), NAMES_AT_ONCE):
            part = wanted[at : at + NAMES_AT_ONCE]
            query = f"{SECONDS} where l.checkout=? and l.name in ({','.join('?' * len(part))})"
            rows = self._db.all(query, self.checkout, *part)
            found |= {str(n): float(s) for n, s in rows if isinstance(s, int | float)}
        return found

    def drop(self, *keys: Digest) -> None:
        self._db.write(("delete from records where key=?", [(key,) for key in keys]))
        self.files.drop(keys)

    def drop_unused(self, used: Mapping[Digest, int]) -> set[Digest]:
        """Drop each of these that was not used since the time given; those that were dropped."""
        self._db.write(("delete from records where key=? and used=?", list(used.items())))
        left = {str(key) for (key,) in self._db.all("select key from records")}
        gone = used.keys() - left
        self.files.drop(gone)
        return gone

    def mend(self, *keys: Digest) -> list[Digest]:
        """Have each of `keys` in the database and as a file, both whole; those that are lost."""
        lost = []
        for key in keys:
            record = self._kept(key)
            if record is None:
                self.drop(key)
                lost.append(key)
            else:
                self.take(record)
        return lost

    def find_again(self) -> None:
        """Have in the database what only a file tells of, so that `rows` are all there are."""
        here = {str(key) for (key,) in self._db.all("select key from records")}
        found = self.files.whole(self.files.known() - here)
        self._db.write((PUT, [_row(record) for record in found]))

    def _kept(self, key: Digest) -> Record | None:
        found = self._db.all("select digest, record from records where key=?", key)
        rows = (read(key, digest, text) for digest, text in found)
        return next((row for row in rows if row is not None), None) or self.files.get(key)

    def last(self, names: Collection[str] | None = None) -> dict[str, Digest]:
        """name → the key that it had when it was last found current or made; None: all there are.

        A few `names` are looked up one by one: of twenty thousand a build may need a hundred.
        """
        query = "select name, key from last where checkout=?"
        if names is None or len(names) > NAMES_AT_ONCE:
            rows = self._db.all(query, self.checkout)
        else:
            some = ",".join("?" * len(names))
            rows = self._db.all(f"{query} and name in ({some})", self.checkout, *names)
        return {str(name): str(key) for name, key in rows}

    def set_last(self, keys: Mapping[str, Digest]) -> None:
        self._db.write(*self._lasts(keys))

    def _lasts(self, keys: Mapping[str, Digest]) -> list[Change]:
        """What a name leaves was in use until now, and so is what it comes to."""
        now = int(time.time())
        old: list[Row] = [(now, self.checkout, name) for name in keys]
        rows: list[Row] = [(self.checkout, name, key) for name, key in keys.items()]
        return [
            (LEFT, old),
            ("insert or replace into last values(?,?,?)", rows),
            ("update records set used=? where key=?", [(now, key) for key in keys.values()]),
        ]

    def forget(self, names: Iterable[str]) -> None:
        rows = [(self.checkout, name) for name in names]
        self._db.write(("insert or replace into forgotten values(?,?)", rows))

    def forgotten(self) -> set[str]:
        rows = self._db.all("select name from forgotten where checkout=?", self.checkout)
        return {str(name) for (name,) in rows}

    def stat(self, path: str) -> tuple[Signature, Digest] | None:
        """Of one file; None, too, once this is closed: then it is read again."""
        if self._is_closed:
            return None
        return _stats(self._db.all(f"{STATS} where path=?", path)).get(path)

    def stats(self) -> dict[str, tuple[Signature, Digest]]:
        return {} if self._is_closed else _stats(self._db.all(STATS))

    def keep_stats(self, stats: Mapping[str, tuple[Signature, Digest]]) -> None:
        rows = [(path, *signature, digest) for path, (signature, digest) in stats.items()]
        summed = [(*row, _sum(row)) for row in rows]
        self._db.write(("insert or replace into stats values(?,?,?,?,?,?,?)", summed))

    def side_files(self, digest: Digest) -> tuple[str, ...] | None:
        for names, sum_ in self._db.all("select names, sum from side_files where digest=?", digest):
            if _sum((digest, names)) == sum_:
                return tuple(json.loads(str(names)))
        return None

    def keep_side_files(self, digest: Digest, names: tuple[str, ...]) -> None:
        row = (digest, json.dumps(names))
        self._db.write(("insert or replace into side_files values(?,?,?)", [(*row, _sum(row))]))

    def imports(self, digest: Digest) -> tuple[Imported, ...] | None:
        for found, sum_ in self._db.all("select found, sum from imports where digest=?", digest):
            if _sum((digest, found)) == sum_:
                return tuple(
                    (d, module, tuple(names)) for d, module, names in json.loads(str(found))
                )
        return None

    def keep_imports(self, found: Mapping[Digest, tuple[Imported, ...]]) -> None:
        rows = [(digest, json.dumps(one)) for digest, one in found.items()]
        summed = [(*row, _sum(row)) for row in rows]
        self._db.write(("insert or replace into imports values(?,?,?)", summed))

    def elsewhere(self) -> dict[Digest, int]:
        """The artifacts that a remote cache had when a record came from it → their size."""
        rows = self._db.all("select digest, size from elsewhere")
        return {str(digest): _number(size) for digest, size in rows}

    def size_elsewhere(self, digest: Digest) -> int | None:
        for (size,) in self._db.all("select size from elsewhere where digest=?", digest):
            return _number(size)
        return None

    def keep_elsewhere(self, files: Mapping[Digest, int]) -> None:
        self._db.write(("insert or replace into elsewhere values(?,?)", list(files.items())))

    def drop_elsewhere(self, digests: Iterable[Digest]) -> None:
        self._db.write(("delete from elsewhere where digest=?", [(d,) for d in digests]))

    # --- what keeps the store ---------------------------------------------------------------

    def rows(self) -> Iterator[tuple[Digest, Digest, str, int]]:
        """Of every record its key, the digest of its text, the text, and when it was last used.

        Seconds since 1970; 0 where a store of an older form did not note it.
        """
        rows = self._db.all("select key, digest, record, used from records")
        for key, digest, text, used in rows:
            yield str(key), str(digest), str(text), _number(used)

    def lasts(self) -> dict[str, dict[str, Digest]]:
        """Checkout → name → key, of all checkouts that share the store."""
        found: dict[str, dict[str, Digest]] = {}
        for checkout, name, key in self._db.all("select checkout, name, key from last"):
            found.setdefault(str(checkout), {})[str(name)] = str(key)
        return found

    def checkouts(self) -> dict[str, tuple[str, int]]:
        """Checkout → its folder and when it was last built."""
        rows = self._db.all("select checkout, root, used from checkouts")
        return {str(checkout): (str(root), _number(used)) for checkout, root, used in rows}

    def keep_checkout(self, root: str) -> None:
        """Note where this checkout lies; at most once a day, since it costs a write."""
        now = int(time.time())
        known = self.checkouts().get(self.checkout)
        if known is None or known[0] != root or not 0 <= now - known[1] < DAY_S:
            row = (self.checkout, root, now)
            self._db.write(("insert or replace into checkouts values(?,?,?)", [row]))

    def drop_names(self, checkout: str, names: Iterable[str]) -> None:
        """Forget which keys these names of a checkout had last."""
        rows = [(checkout, name) for name in names]
        self._db.write(
            ("delete from last where checkout=? and name=?", rows),
            ("delete from forgotten where checkout=? and name=?", rows),
        )

    def drop_checkout(self, checkout: str) -> None:
        self._db.write(
            ("delete from last where checkout=?", [(checkout,)]),
            ("delete from forgotten where checkout=?", [(checkout,)]),
            ("delete from checkouts where checkout=?", [(checkout,)]),
        )

    def drop_stats(self, paths: Iterable[str]) -> None:
        self._db.write(("delete from stats where path=?", [(path,) for path in paths]))

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        told = [str(text) for (text,) in self._db.all("pragma integrity_check")]
        return [] if told == ["ok"] else told

    def renew(self, why: str) -> None:
        """Another database, filled from the files, in the place of a damaged one."""
        self._db.replace(why)

    def shrink(self) -> None:
        """Give the room of dropped rows back; waits for whoever writes."""
        self._db.shrink()

    def close(self) -> None:
        self._is_closed = True
        self._db.close()


def _row(record: Record) -> Row:
    text = record.to_json()
    return record.key, digest_bytes(text.encode()), text, int(time.time())


def _stats(rows: Iterable[Sequence[object]]) -> dict[str, tuple[Signature, Digest]]:
    return {
        path: (Signature._make(four), digest)  # type: ignore[misc] # as they were written
        for *row, sum_ in rows
        if _sum(row) == sum_
        for path, *four, digest in [row]
    }


def _sum(row: Iterable[object]) -> int:
    return zlib.crc32("\0".join(map(str, row)).encode(errors="replace"))


def _number(value: object) -> int:
    """0 where a damaged row has something else."""
    return value if isinstance(value, int) else 0
