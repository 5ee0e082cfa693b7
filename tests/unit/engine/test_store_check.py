from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.engine.store_check import check
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
    kept.put("convert/m", "aa")
    kept.records._db.execute(statement)
    told = check(kept.store, kept.records)

    assert len(told.damaged) == 1
    assert list(kept.records.rows()) == []
