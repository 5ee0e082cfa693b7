"""Small lines over the nights."""

from __future__ import annotations

from typing import Any

from qnnbuild.report.sparks import Spark, nights_drawn


def drawn(**values: list[Any]) -> dict[str, Spark]:
    count = len(next(iter(values.values())))
    blank: dict[str, Any] = {"built": 1, "failed": 0, "size": 0, "seconds": 0, "sqnr": None}
    nights = [
        {**blank, **{name: found[night] for name, found in values.items()}}
        for night in range(count)
    ]
    return {spark.title: spark for spark in nights_drawn({"nights": nights})}


def test_one_night_is_no_line() -> None:
    assert drawn(built=[1]) == {}


def test_a_line_goes_from_the_first_night_to_the_last() -> None:
    spark = drawn(built=[10, 20, 15])["built"]

    assert spark.lines == ("3,23 60,3 117,13",)
    assert (spark.first, spark.last, spark.end) == ("10", "15", (117.0, 13.0))


def test_what_stands_still_is_a_line_in_the_middle() -> None:
    assert drawn(failed=[0, 0])["failed"].lines == ("3,13 117,13",)


def test_a_night_without_a_number_is_a_gap() -> None:
    spark = drawn(sqnr=[30.0, None, 40.0, 41.25])["SQNR, median of cells"]

    assert len(spark.lines) == 2
    assert (spark.first, spark.last) == ("30.0 dB", "41.2 dB")


def test_numbers_that_never_were_have_no_line() -> None:
    spark = drawn(sqnr=[None, None])["SQNR, median of cells"]

    assert (spark.lines, spark.first, spark.last, spark.end) == ((), "–", "–", None)


def test_numbers_are_told_for_people() -> None:
    told = drawn(size=[1_000_000, 2_500_000], seconds=[60, 3_700])

    assert told["bytes of all bundles"].last == "2.5 MB"
    assert told["compile time of all"].last == "1 h 1 min"
