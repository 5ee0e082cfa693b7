from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine.appetite import BASE_BYTES, IN_PARTS, Appetite
from qnnbuild.engine.records import Records
from tests.unit.engine.fake_world import action

GB = 1_000_000_000
RECORD = Record(key="", name="", step="", parts={}, outputs={})


@pytest.fixture
def records(tmp_path):
    opened = Records(tmp_path / "records.db", "here")
    yield opened
    opened.close()


def keep(records: Records, name: str, peak_bytes: int) -> None:
    key = name.encode().hex().ljust(64, "0")
    records.put(replace(RECORD, key=key, name=name, peak_bytes=peak_bytes), name)


def test_the_last_run_tells_with_a_margin(records):
    keep(records, "context/m", 2 * GB)
    keep(records, "context/n", 7 * GB)

    assert Appetite(records).bytes_of(action("context/m"), 50 * GB) == 2.2 * GB


def test_what_never_ran_takes_what_most_of_its_step_took(records):
    for number in range(10):
        keep(records, f"context/{number}", (number + 1) * GB)
    keep(records, "convert/x", 90 * GB)

    assert Appetite(records).bytes_of(action("context/m")) == int(9 * GB * 1.1)


def test_an_input_that_is_larger_than_all_before_counts_more_than_its_step(records):
    keep(records, "context/small", GB // 10)

    assert Appetite(records).bytes_of(action("context/m"), GB) == 7 * GB


def test_without_any_run_the_step_and_the_size_of_the_inputs_tell(records):
    appetite = Appetite(records)

    assert appetite.bytes_of(action("fetch/m"), GB) == BASE_BYTES
    assert appetite.bytes_of(action("convert/m"), GB) == BASE_BYTES + 3 * GB
    assert appetite.bytes_of(action("own/m"), GB) == BASE_BYTES + 3 * GB
    assert appetite.bytes_of(action("prepare/m"), GB) == BASE_BYTES + 9 * GB


def test_prepare_takes_less_where_weights_stay_in_their_files(records):
    appetite = Appetite(records)

    assert appetite.bytes_of(action("prepare/m"), 9 * GB) == BASE_BYTES + 18 * GB
    assert appetite.bytes_of(action("prepare/m"), 3 * GB) == BASE_BYTES + 9 * IN_PARTS
    cast = action("prepare/m", params={"cast": {"int64": "int32"}})
    assert appetite.bytes_of(cast, 3 * GB) == BASE_BYTES + 27 * GB


def test_another_folder_with_the_same_store_does_not_tell(records):
    keep(records, "context/m", 2 * GB)
    other = Records(records.path, "elsewhere")
    found = Appetite(other).bytes_of(action("context/m"))
    other.close()

    assert found == BASE_BYTES


def test_a_record_that_nobody_can_read_tells_nothing(records):
    keep(records, "context/m", 2 * GB)
    with sqlite3.connect(records.path) as db:
        db.execute("update records set record='{half'")
    db.close()

    assert Appetite(records).bytes_of(action("context/m")) == BASE_BYTES
