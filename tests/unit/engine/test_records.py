from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import digest_bytes
from qnnbuild.engine.records import FORMAT, Records
from qnnbuild.engine.signature import Signature
from qnnbuild.errors import StoreError

KEY = "a" * 64
RECORD = Record(
    key=KEY,
    name="convert/m",
    step="convert",
    parts={"params": {"shape": [1, 80]}},
    outputs={"model": Tree(files={"model.onnx": ("b" * 64, 10)})},
    warnings=("input 'ü' is not used",),
    seconds=1.5,
    made="2026-01-02T03:04:05+00:00",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.db"


@pytest.fixture
def records(path: Path):
    opened = Records(path, "here")
    yield opened
    opened.close()


def change(path: Path, statement: str, *values: object) -> None:
    db = sqlite3.connect(path)
    db.execute(statement, values)
    db.commit()
    db.close()


def test_a_record_is_found_by_its_key(records):
    records.put(RECORD, "convert/m")

    assert records.get(KEY) == RECORD
    assert records.get("c" * 64) is None


def test_a_record_is_there_in_the_next_run(path, records):
    records.put(RECORD, "convert/m")
    records.close()
    again = Records(path, "here")
    found = again.get(KEY)
    again.close()

    assert found == RECORD


def test_a_dropped_record_is_gone(records):
    records.put(RECORD, "convert/m")
    records.drop(KEY)

    assert records.get(KEY) is None


def test_a_newer_record_of_a_key_takes_the_place_of_the_old_one(records):
    records.put(RECORD, "convert/m")
    records.put(replace(RECORD, seconds=9.0), "convert/m")
    found = records.get(KEY)

    assert found == replace(RECORD, seconds=9.0)


def test_a_name_knows_its_last_key(records):
    records.put(RECORD, "convert/m")
    records.set_last({"convert/n": "c" * 64, "fetch/m": "d" * 64})

    assert records.last() == {"convert/m": KEY, "convert/n": "c" * 64, "fetch/m": "d" * 64}


def test_names_belong_to_a_checkout_and_records_to_everybody(path, records):
    records.put(RECORD, "convert/m")
    records.forget(["convert/m"])
    there = Records(path, "there")
    found, last, forgotten = there.get(KEY), there.last(), there.forgotten()
    there.close()

    assert found == RECORD
    assert last == {}
    assert forgotten == set()


def test_a_forgotten_name_stays_forgotten_until_it_is_made(path, records):
    records.put(RECORD, "convert/m")
    records.forget(["convert/m", "fetch/m"])
    again = Records(path, "here")
    before = again.forgotten()
    again.set_last({"convert/m": KEY})
    kept = again.forgotten()
    again.put(RECORD, "convert/m")
    after = again.forgotten()
    again.close()

    assert before == kept == {"convert/m", "fetch/m"}
    assert after == {"fetch/m"}


def test_signatures_are_kept_whole(records):
    signature = Signature(1_700_000_000_123_456_789, 1_700_000_000_987_654_321, 1 << 40, 1 << 50)
    known = {"/repo/a.onnx": (signature, "b" * 64)}
    records.keep_stats(known)

    assert records.stats() == known


def test_imports_are_kept_by_the_digest_of_the_file(records):
    found = ((0, "os", ()), (2, "deep", ("a", "b")))
    records.keep_imports({"b" * 64: found, "c" * 64: ()})

    assert records.imports("b" * 64) == found
    assert records.imports("c" * 64) == ()
    assert records.imports("d" * 64) is None


def test_side_files_are_kept_by_the_digest_of_the_file(records):
    records.keep_side_files("b" * 64, ("m.data", "deep/ü.data"))
    records.keep_side_files("c" * 64, ())

    assert records.side_files("b" * 64) == ("m.data", "deep/ü.data")
    assert records.side_files("c" * 64) == ()
    assert records.side_files("d" * 64) is None


def test_a_record_of_another_form_counts_as_none(path, records):
    text = RECORD.to_json().replace('"seconds"', '"duration"')
    values = (KEY, digest_bytes(text.encode()), text)
    change(path, "insert into records(key, digest, record) values(?,?,?)", *values)

    assert records.get(KEY) is None


def test_two_connections_that_write_at_once_lose_nothing(path):
    def work(number: int) -> None:
        own = Records(path, "here")
        for n in range(20):
            name = f"step/{number}-{n}"
            own.put(replace(RECORD, key=digest_bytes(name.encode()), name=name), name)
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    read = Records(path, "here")
    last = read.last()
    found = {name: read.get(key) for name, key in last.items()}
    read.close()

    assert sorted(last) == sorted(f"step/{number}-{n}" for number in range(4) for n in range(20))
    assert [name for name, record in found.items() if record is None or record.name != name] == []


def test_threads_share_one_connection(records):
    def work(number: int) -> None:
        for n in range(20):
            records.set_last({f"step/{number}-{n}": KEY})
            records.last()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert len(records.last()) == 80


def test_one_file_or_all_are_asked_for_and_none_of_a_closed_store(records):
    known = (Signature(1, 2, 3, 4), "b" * 64)
    records.keep_stats({"/a": known})
    found = [records.stat("/a"), records.stat("/b"), records.stats()]
    records.close()

    assert found == [known, None, {"/a": known}]
    assert (records.stat("/a"), records.stats()) == (None, {})


def test_a_few_names_or_all_are_looked_up(records, monkeypatch):
    records.set_last({f"step/{n}": KEY for n in range(5)})
    some = ["step/1", "step/3", "step/9"]
    few = records.last(some)
    monkeypatch.setattr("qnnbuild.engine.records.NAMES_AT_ONCE", 2)

    assert few == {"step/1": KEY, "step/3": KEY}
    assert set(few) < set(records.last(some)) == set(records.last())
    assert records.last([]) == {}


def test_a_write_that_fails_changes_nothing(records):
    with pytest.raises(StoreError):
        records.keep_stats({"/a": (Signature(1, 2, 3, 4), "b"), "/b": (Signature(1, 2, 3, 4), [])})
    records.keep_stats({"/c": (Signature(1, 2, 3, 4), "b" * 64)})

    assert list(records.stats()) == ["/c"]


def test_an_empty_file_is_an_empty_store(path):
    path.touch()
    opened = Records(path, "here")
    last = opened.last()
    opened.close()

    assert last == {}


def test_records_of_a_newer_qnnbuild_are_refused_and_kept(path, records):
    records.put(RECORD, "convert/m")
    records.close()
    for number in ("user_version", "application_id"):
        change(path, f"pragma {number}={FORMAT + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Records(path, "here")

    (problem,) = caught.value.problems
    assert problem.message == (
        f"the store was written by a newer qnnbuild (form {FORMAT + 1}, here {FORMAT})"
    )
    assert problem.facts == (("records", str(path)),)
    assert problem.hint == "use the qnnbuild that wrote it, or another store (QNNBUILD_STORE)"
    assert path.read_bytes() == before


def test_a_place_where_no_file_can_be_is_told(tmp_path):
    with pytest.raises(StoreError) as caught:
        Records(tmp_path / "none" / "records.db", "here")

    (problem,) = caught.value.problems
    assert problem.message == "the store cannot be used: No such file or directory"
    assert problem.hint == ("give another folder with QNNBUILD_STORE or `store:` in qnnbuild.yaml")


def test_a_build_that_opens_a_new_store_waits_for_another_that_does(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    written = threading.Timer(0.1, lambda: other.execute("commit"))
    written.start()
    records = Records(path, "here")
    records.put(RECORD, "convert/m")
    found = records.get(KEY)
    records.close()
    written.join()
    other.close()

    assert found == RECORD


FIRST_FORM = """
create table records(
  key text primary key, digest text not null, record text not null) without rowid;
create table last(
  checkout text, name text, key text not null, primary key(checkout, name)) without rowid;
create table forgotten(
  checkout text, name text, primary key(checkout, name)) without rowid;
create table stats(
  path text primary key, mtime int, ctime int, size int, inode int, digest text) without rowid;
create table side_files(
  digest text primary key, names text not null) without rowid;
pragma user_version=1;
"""


def test_a_store_of_the_first_form_is_brought_up_and_loses_nothing(path):
    text = RECORD.to_json()
    db = sqlite3.connect(path)
    db.executescript(FIRST_FORM)
    db.execute("insert into records values(?,?,?)", (KEY, digest_bytes(text.encode()), text))
    db.execute("insert into last values(?,?,?)", ("here", "convert/m", KEY))
    db.commit()
    db.close()
    records = Records(path, "here")
    found, last, rows = records.get(KEY), records.last(), list(records.rows())
    records.keep_checkout("/repo")
    checkouts = records.checkouts()
    records.keep_imports({"c" * 64: ()})
    brought_up_imports = records.imports("c" * 64)
    records.close()
    (form,) = sqlite3.connect(path).execute("pragma user_version").fetchone()

    assert found == records.files.get(KEY) == RECORD
    assert last == {"convert/m": KEY}
    assert [used for *_, used in rows] == [0]
    assert checkouts["here"][0] == "/repo"
    assert form == FORMAT
    assert brought_up_imports == ()


def test_two_that_bring_a_store_up_at_once_both_have_it(path):
    db = sqlite3.connect(path)
    db.executescript(FIRST_FORM)
    db.close()
    opened = []
    threads = [
        threading.Thread(target=lambda: opened.append(Records(path, "here"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for one in opened:
        one.put(RECORD, "convert/m")
        one.close()

    assert len(opened) == 4


def used(records: Records) -> dict[str, int]:
    return {key: when for key, _, _, when in records.rows()}


def test_a_record_is_in_use_when_it_is_made_taken_and_left(records, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("qnnbuild.engine.records.time.time", lambda: now[0])
    other = replace(RECORD, key="c" * 64)
    records.put(RECORD, "convert/m")
    made = used(records)
    now[0] = 2000.0
    records.set_last({"convert/m": KEY})
    taken = used(records)
    now[0] = 3000.0
    records.put(other, "convert/m")
    left = used(records)

    assert made == {KEY: 1000}
    assert taken == {KEY: 2000}
    assert left == {KEY: 3000, "c" * 64: 3000}


def test_a_checkout_is_noted_once_a_day(records, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("qnnbuild.engine.records.time.time", lambda: now[0])
    seen = []
    for later in (0, 80_000, 10_000):
        now[0] += later
        records.keep_checkout("/repo")
        seen.append(records.checkouts()["here"])

    assert seen == [("/repo", 1000), ("/repo", 1000), ("/repo", 91_000)]


def test_a_checkout_that_is_dropped_leaves_the_records(records):
    records.put(RECORD, "convert/m")
    records.forget(["convert/m"])
    records.keep_checkout("/repo")
    records.drop_checkout("here")

    assert (records.last(), records.forgotten(), records.checkouts()) == ({}, set(), {})
    assert records.get(KEY) == RECORD


def test_a_whole_file_has_no_damage(records):
    records.put(RECORD, "convert/m")

    assert records.damage() == []


def test_the_last_times_of_many_names_are_found(records):
    names = [f"convert/m{n}" for n in range(1_203)]
    for number, name in enumerate(names):
        if number % 400 == 0:
            key = f"{number:064x}"
            records.put(replace(RECORD, key=key, name=name, seconds=float(number)), name)

    assert records.seconds([*names, "never"]) == {f"convert/m{n}": n for n in (0, 400, 800, 1200)}
