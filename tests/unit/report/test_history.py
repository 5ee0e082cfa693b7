"""A report remembers what its cells were on earlier nights, and no more of them than it must."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.report.history import MOST_NIGHTS, measures_of, value_at, with_history
from tests.reported import FLOATS, VAD, Told, failed

CELL = "vad/w8a8@SM8750"
ACTION = "context/vad/near/w8a8@SM8750"


def on(day: int, told: dict[str, Any] | None = None, **measures: Any) -> dict[str, Any]:
    """A report of that day; `measures` are those of CELL."""
    found = told or Told.of(VAD).json()
    for row in found["models"][0]["rows"]:
        for cell in row["cells"]:
            if f"vad/{row['variant']}@{cell['chip']}" == CELL:
                cell.update(measures)
    return {**found, "made": f"2026-03-{day:02}T03:00:00+00:00"}


def nights(*reports: dict[str, Any], apart: bool = False) -> dict[str, Any]:
    told: dict[str, Any] | None = None
    for one in reports:
        told = with_history(one, told, apart=apart)
    assert told is not None
    return told


def sizes(told: dict[str, Any]) -> list[Any]:
    """Of CELL, night by night."""
    entries = told["earlier"].get(CELL, {}).get("size", [])
    today = measures_of(told).get(CELL, {}).get("size")
    return [value_at(entries, night, today) for night in range(len(told["nights"]))]


def test_a_first_night_has_no_history() -> None:
    told = nights(on(1))

    assert [night["made"][:10] for night in told["nights"]] == ["2026-03-01"]
    assert told["earlier"] == {}


def test_what_never_changed_takes_no_place() -> None:
    told = nights(on(1), on(2), on(3))

    assert len(told["nights"]) == 3
    assert told["earlier"] == {}
    assert sizes(told) == [1000, 1000, 1000]


def test_each_night_has_the_value_that_it_had() -> None:
    told = nights(on(1), on(2, size=7), on(3, size=7), on(4, size=9), on(5, size=1000))

    assert sizes(told) == [1000, 7, 7, 9, 1000]
    assert set(told["earlier"]) == {CELL}


def test_builds_of_one_day_are_one_night() -> None:
    told = nights(on(1), on(2, size=7), on(2, size=8), on(3, size=9))

    assert sizes(told) == [1000, 8, 9]


def test_a_change_that_was_taken_back_on_the_same_day_is_none() -> None:
    told = nights(on(1), on(2, size=7), on(2))

    assert told["earlier"] == {}
    assert sizes(told) == [1000, 1000]


def test_the_same_report_again_changes_nothing() -> None:
    once = nights(on(1), on(2, size=7))

    assert with_history(on(2, size=7), once, apart=False) == once


def test_another_nights_page_is_a_night_of_its_own_whatever_the_day() -> None:
    told = nights(on(1), on(1, size=7), apart=True)

    assert sizes(told) == [1000, 7]


def test_a_page_of_before_there_were_nights_is_one() -> None:
    told = with_history(on(2, size=7), on(1), apart=False)

    assert sizes(told) == [1000, 7]


def test_a_cell_that_came_later_was_nothing_before() -> None:
    told = nights(on(1, Told.of(FLOATS).json()), on(2))

    assert sizes(told) == [None, 1000]


def test_a_cell_that_is_gone_is_remembered() -> None:
    told = nights(on(1), on(2, Told.of(FLOATS).json()))

    assert sizes(told) == [1000, None]


def test_the_oldest_nights_are_forgotten() -> None:
    told = nights(*(on(day, size=day) for day in range(1, 32)), on(31, size=31))

    assert len(told["nights"]) == MOST_NIGHTS
    assert sizes(told) == list(range(32 - MOST_NIGHTS, 32))


@pytest.mark.parametrize(("name", "value"), [("built", 5), ("failed", 1), ("sqnr", 31.5)])
def test_a_night_has_its_numbers_in_a_line(name: str, value: float) -> None:
    told = nights(on(1, Told.of(VAD).be(ACTION, failed()).json()))

    assert told["nights"][0][name] == value
