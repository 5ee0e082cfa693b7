from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.engine.records import Records
from qnnbuild.engine.store_check import check
from qnnbuild.errors import Problem
from tests.unit.engine.test_garbage import Kept


@pytest.fixture
def kept(tmp_path: Path):
    made = Kept(tmp_path)
    yield made
    made.records.close()


def test_a_whole_store_is_counted(kept):
    kept.put("convert/m", "aa", "bbb")
    seen: list[int] = []
    told = check(kept.store, kept.records, seen.append)

    assert (told.artifacts, told.read_bytes, told.records) == (2, 5, 1)
    assert (told.damaged, told.incomplete, told.database) == ([], [], [])
    assert sorted(seen) == [2, 3]


def test_a_flipped_bit_is_found_although_no_time_tells(kept):
    record = kept.put("convert/m", "aa")
    ((digest, _),) = record.outputs["o"].files.values()
    path = kept.store.path(digest)
    before = path.stat()
    path.chmod(0o644)
    path.write_text("ab")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    told = check(kept.store, kept.records)

    assert told.damaged == [f"artifact {digest[:2]}/{digest}"]
    assert told.incomplete == ["convert/m"]
    assert not path.exists()


def test_what_is_collected_meanwhile_is_not_damaged(kept, monkeypatch):
    record = kept.put("convert/m", "aa", "bbb")
    paths = [kept.store.path(digest) for digest, _ in record.outputs["o"].files.values()]

    def gone(of: object) -> list[Path]:
        """As they were a moment ago."""
        paths[0].unlink()
        return paths

    monkeypatch.setattr("qnnbuild.engine.store_check.artifacts", gone)
    told = check(kept.store, kept.records)

    assert (told.damaged, told.artifacts) == ([], 1)
    assert told.incomplete == ["convert/m"]


def test_a_link_in_an_artifacts_place_is_dropped_and_its_end_left(kept, tmp_path):
    digest, _ = kept.add("aa")
    (tmp_path / "mine").write_text("aa")
    kept.store.path(digest).unlink()
    kept.store.path(digest).symlink_to(tmp_path / "mine")

    assert check(kept.store, kept.records).damaged
    assert (tmp_path / "mine").read_text() == "aa"


@pytest.mark.parametrize(
    "statement",
    [
        "update records set record=substr(record, 1, 40)",
        "update records set record=replace(record, 'convert/m', 'convert/n')",
        "update records set key='" + "0" * 64 + "'",
    ],
)
def test_a_record_that_is_not_what_was_written_is_dropped(kept, statement):
    record = kept.put("convert/m", "aa")
    kept.records.files.drop([record.key])
    kept.records._db.write((statement, [()]))
    told = check(kept.store, kept.records)

    assert len(told.damaged) == 1
    assert list(kept.records.rows()) == []


def test_a_record_is_mended_out_of_its_file_and_the_file_out_of_the_record(kept):
    record, other = kept.put("convert/m", "aa"), kept.put("convert/n", "bb")
    kept.records._db.write(
        ("update records set record=substr(record, 1, 40) where key=?", [(record.key,)])
    )
    (kept.root / "store" / "records" / other.key[:2] / f"{other.key}.json").write_bytes(b"\xff")
    told = check(kept.store, kept.records)
    again = check(kept.store, kept.records)

    assert told.mended == sorted(f"record {key}" for key in (record.key, other.key))
    assert (told.damaged, again.mended, again.records) == ([], [], 2)
    assert kept.records.files.get(other.key) == other


def test_a_database_in_disorder_is_replaced(kept):
    record = kept.put("convert/m", "aa")
    told_of: list[Problem] = []
    path = kept.records.path
    kept.records.close()
    data = path.read_bytes()
    # the first name of an index or row: what follows is no longer sorted
    at = data.index(record.key.encode())
    path.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    kept.records = Records(path, "here", told_of.append)
    kept.put("convert/n", "bb")
    told = check(kept.store, kept.records)
    again = check(kept.store, kept.records)

    assert again.database == []
    assert (again.records, again.damaged) == (2, [])
    assert len(told.damaged) == 1
    assert len(told_of) == len(told.database)
