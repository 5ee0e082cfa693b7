"""The top of the report: what is otherwise than on the night before, and on which chips."""

from __future__ import annotations

import copy
from typing import Any

from qnnbuild.report.history import with_history
from qnnbuild.report.since import Since, since
from tests.reported import VAD, Told, failed

ACTION = "context/vad/near/w8a8@SM8750"
CHIPS = ("SM7325", "SM8550", "SM8750")


def two_nights(before: dict[str, Any], after: dict[str, Any]) -> Since:
    found = since(with_history(after, with_history(before, None, apart=False), apart=True))
    assert found is not None
    return found


def changed(told: dict[str, Any], row: int = 0, **measures: Any) -> dict[str, Any]:
    """With other sizes, times or SQNR in all cells of a row."""
    found = copy.deepcopy(told)
    (model,) = found["models"]
    for number, cell in enumerate(model["rows"][row]["cells"]):
        if "size" in measures:
            cell["size"] = measures["size"] + number
        for graph in cell["graphs"]:
            if "seconds" in measures:
                graph["compiled"]["seconds"] = measures["seconds"]
            if "sqnr_db" in measures:
                model["proofs"][graph["proof"]]["sqnr_db"] = measures["sqnr_db"]
            if "cpu_nodes" in measures:
                graph["compiled"]["cpu_nodes"] = measures["cpu_nodes"]
    return found


def lines(found: Since) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(one.kind, one.row, one.said, one.chips) for one in (*found.worse, *found.better)]


def test_a_first_night_says_nothing() -> None:
    assert since(with_history(Told.of(VAD).json(), None, apart=False)) is None


def test_a_night_like_the_one_before_has_no_lines() -> None:
    told = Told.of(VAD).json()
    found = two_nights(told, told)

    assert (found.counts, lines(found)) == ({}, [])


def test_what_fails_now_is_told_with_its_reason() -> None:
    found = two_nights(Told.of(VAD).json(), Told.of(VAD).be(ACTION, failed()).json())
    (line,) = found.worse

    assert (line.kind, line.row, line.chips) == ("failed", "vad/w8a8", ("SM8750",))
    assert (line.said, line.why) == ("built → failed", "the tool stopped")


def test_what_works_again_is_mended() -> None:
    found = two_nights(Told.of(VAD).be(ACTION, failed()).json(), Told.of(VAD).json())

    assert lines(found) == [("mended", "vad/w8a8", "failed → built", ("SM8750",))]


def test_bigger_is_one_line_for_all_chips_the_largest_first() -> None:
    told = Told.of(VAD).json()
    found = two_nights(told, changed(told, size=1500))
    said = "1 kB → 1.5 kB (+50.2%); the least: 1 kB → 1.5 kB (+50.0%)"

    assert lines(found) == [("bigger", "vad/w8a8", said, CHIPS[::-1])]
    assert found.counts == {"bigger": 3}


def test_slower_is_told_when_it_is_more_than_the_machines_mood() -> None:
    told = Told.of(VAD).json()
    slower = two_nights(told, changed(told, seconds=15.0))

    assert lines(slower) == [("slower", "vad/w8a8", "1.5 → 15.0 s (×10.0)", CHIPS)]
    assert lines(two_nights(told, changed(told, seconds=2.9))) == []


def test_accuracy_is_told_in_decibels() -> None:
    told = Told.of(VAD).json()
    found = two_nights(told, changed(told, sqnr_db=24.0))

    assert lines(found) == [("less accurate", "vad/w8a8", "31.5 → 24.0 dB (-7.5)", CHIPS)]


def test_less_work_on_the_cpu_is_better() -> None:
    told = Told.of(VAD).json()
    found = two_nights(told, changed(told, cpu_nodes=[]))

    assert found.worse == ()
    assert lines(found) == [("less on the CPU", "vad/w8a8", "1 → 0 nodes (-1)", CHIPS)]


def test_a_chip_that_is_new_and_one_that_is_gone_are_told() -> None:
    before, after = Told.of(VAD.replace("SM7325, ", "")).json(), Told.of(VAD).json()

    assert {(kind, said, chips) for kind, _, said, chips in lines(two_nights(before, after))} == {
        ("new", "nothing → built", ("SM7325",))
    }
    assert {(kind, said, chips) for kind, _, said, chips in lines(two_nights(after, before))} == {
        ("gone", "built → gone", ("SM7325",))
    }
