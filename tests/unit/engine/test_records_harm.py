"""Records when their database is damaged, cut, gone, or has no room."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine.records import FORMAT, Records
from qnnbuild.engine.signature import Signature
from qnnbuild.errors import Problem, StoreError
from tests.unit.engine.test_records import KEY, RECORD, change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.db"


@pytest.fixture
def records(path: Path):
    opened = Records(path, "here")
    yield opened
    opened.close()


HARM = [
    "update records set record=substr(record, 1, 40)",
    "update records set record=replace(record, '1.5', '2.5')",
    "update records set record=x'ff'",
    "delete from records",
]


@pytest.mark.parametrize("statement", HARM)
def test_a_record_that_is_not_what_was_written_is_read_from_its_file(path, records, statement):
    records.put(RECORD, "convert/m")
    change(path, statement)
    found = records.get(KEY)
    ((_, text),) = [(key, text) for key, _, text, _ in records.rows()]

    assert found == RECORD
    assert Record.from_json(text) == RECORD


@pytest.mark.parametrize("statement", HARM)
def test_a_damaged_record_without_a_file_counts_as_none(path, records, statement):
    records.put(RECORD, "convert/m")
    records.files.drop([KEY])
    change(path, statement)

    assert records.get(KEY) is None


@pytest.mark.parametrize("text", ["", "x", "0\n{}", "\udcff"])
def test_a_file_that_is_not_what_was_written_counts_as_none(path, records, text):
    records.put(RECORD, "convert/m")
    change(path, "delete from records")
    file = path.parent / "records" / KEY[:2] / f"{KEY}.json"
    file.write_text(text, errors="surrogateescape")

    assert records.get(KEY) is None


def test_a_damaged_signature_is_not_remembered(path, records):
    for name in "abcd":
        records.keep_stats({f"/{name}": (Signature(1, 2, 3, 4), "b" * 64)})
    change(path, "update stats set digest='c' || substr(digest, 2) where path='/a'")
    change(path, "update stats set size=5 where path='/b'")
    change(path, "update stats set path='/e' where path='/c'")

    assert list(records.stats()) == ["/d"]
    assert [name for name in "abcde" if records.stat(f"/{name}")] == ["d"]


def test_a_damaged_list_of_imports_is_not_remembered(path, records):
    records.keep_imports({"b" * 64: ((0, "os", ()),)})
    change(path, "update imports set found='[]'")

    assert records.imports("b" * 64) is None


def test_a_damaged_list_of_side_files_is_not_remembered(path, records):
    records.keep_side_files("b" * 64, ("m.data",))
    change(path, "update side_files set names='[]'")

    assert records.side_files("b" * 64) is None


@pytest.mark.parametrize(
    "data", [b"this is no database at all" * 100, b"SQLite format 3\0" + b"x" * 200]
)
def test_a_file_that_is_no_database_is_set_aside(path, data):
    path.write_bytes(data)
    opened = Records(path, "here")
    opened.put(RECORD, "convert/m")
    found = opened.get(KEY)
    opened.close()

    assert found == RECORD
    (aside,) = path.parent.glob("records.db.damaged-*")
    assert aside.read_bytes() == data


def test_tables_that_are_damaged_inside_are_replaced_and_told(path, records):
    records.put(RECORD, "convert/m")
    for n in range(300):
        records.set_last({f"name {n}": KEY})
    records.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    told: list[Problem] = []
    damaged = Records(path, "here", told.append)
    last, found, rows = damaged.last(), damaged.get(KEY), list(damaged.rows())
    damaged.close()

    assert (last, found, len(rows)) == ({}, RECORD, 1)
    (aside,) = path.parent.glob("records.db.damaged-*")
    (problem,) = told
    assert problem.message == (
        "the store's database of records was damaged: database disk image is malformed"
    )
    assert problem.facts == (
        ("database", str(path)), ("found again", "1 records"), ("set aside", aside.name),
    )  # fmt: skip
    assert problem.hint == f"look at the disk (`dmesg`), then remove {aside.name}"


@pytest.mark.parametrize("length", [0, 1, 100, 4096, 5000, 20_000])
def test_a_database_that_was_cut_loses_no_record(path, records, length):
    records.put(RECORD, "convert/m")
    records.close()
    path.write_bytes(path.read_bytes()[:length])
    cut = Records(path, "here")
    found = cut.get(KEY)
    rows = list(cut.rows())
    cut.close()

    assert found == RECORD
    assert len(rows) == 1


def test_a_database_that_is_gone_is_made_again_and_told(path, records):
    records.put(RECORD, "convert/m")
    records.close()
    path.unlink()
    told: list[Problem] = []
    again = Records(path, "here", told.append)
    rows = list(again.rows())
    again.close()

    assert len(rows) == 1
    assert [problem.message for problem in told] == ["the store's database of records was gone"]


def test_two_that_find_the_same_damage_replace_it_once(path, records):
    records.put(RECORD, "convert/m")
    records.close()
    opened = [Records(path, "here") for _ in range(2)]
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    other = replace(RECORD, key="c" * 64)
    for one in opened:
        one._db.replace("it is damaged")
    opened[0].put(other, "convert/m")
    found = opened[1].get("c" * 64)
    for one in opened:
        one.close()

    assert found == other
    assert len([p for p in path.parent.glob("*.damaged-*") if p.name[-1].isdigit()]) == 1


def test_a_form_that_a_flipped_bit_makes_newer_is_no_newer_one(path, records):
    records.put(RECORD, "convert/m")
    records.close()
    change(path, f"pragma user_version={FORMAT + 4}")
    again = Records(path, "here")
    found = again.get(KEY)
    again.close()

    assert found == RECORD


def test_tables_that_a_newer_qnnbuild_brings_up_meanwhile_are_left_alone(path, records):
    change(path, "alter table records add column more int not null default 0")
    for number in ("user_version", "application_id"):
        change(path, f"pragma {number}={FORMAT + 1}")
    with pytest.raises(StoreError, match="the store was written by a newer qnnbuild"):
        records.put(RECORD, "convert/m")

    assert list(path.parent.glob("*.damaged-*")) == []


def test_a_full_disk_is_told_as_one_and_the_next_write_goes_on(path, records):
    def room(pages: int) -> None:
        records._db.all(f"pragma max_page_count={pages}")

    ((pages,),) = records._db.all("pragma page_count")
    room(pages)
    with pytest.raises(StoreError) as caught:
        records.set_last({f"name {n}": KEY for n in range(1000)})
    room(1 << 20)
    records.set_last({"convert/m": KEY})

    (problem,) = caught.value.problems
    assert problem.message == "the store's records cannot be used: database or disk is full"
    assert problem.hint == "make room, or give another folder with QNNBUILD_STORE"
    assert records.last() == {"convert/m": KEY}
