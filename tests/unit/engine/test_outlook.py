"""About how long the rest of a build takes."""

from __future__ import annotations

import pytest

from qnnbuild.engine.outlook import Outlook, Rest

CHAIN = {"a": (), "b": ("a",), "c": ("b",)}
WIDE = {"a": (), "b": (), "c": (), "d": ()}
TEN = dict.fromkeys("abcdef", 10.0)


@pytest.mark.parametrize(
    ("needs", "workers", "seconds"),
    [
        (CHAIN, 1, 30.0),
        (CHAIN, 8, 30.0),  # workers do not help where one thing waits for the other
        (WIDE, 1, 40.0),
        (WIDE, 2, 20.0),
        (WIDE, 3, 20.0),  # the fourth waits for the first that is done
        (WIDE, 4, 10.0),
        ({**WIDE, "e": ("a", "b"), "f": ("e",)}, 2, 40.0),
    ],
)
def test_the_rest_is_what_workers_and_the_longest_way_let_it_be(
    needs: dict[str, tuple[str, ...]], workers: int, seconds: float
) -> None:
    assert Outlook(needs, TEN).rest({}, workers) == Rest(seconds=seconds)


def test_what_runs_has_less_before_it() -> None:
    assert Outlook(CHAIN, TEN).rest({"a": 4.0}, 2).seconds == 26.0


def test_what_is_current_is_waited_for_by_nobody() -> None:
    assert Outlook({"b": ("a",), "c": ("b",)}, TEN).rest({}, 1).seconds == 20.0


def test_what_has_ended_counts_no_more_and_lets_others_begin() -> None:
    outlook = Outlook(CHAIN, TEN)
    outlook.drop("a")
    outlook.drop("a")

    assert outlook.rest({}, 1).seconds == 20.0
    assert len(outlook) == 2


def test_what_never_ran_counts_as_nothing_and_is_told() -> None:
    assert Outlook(CHAIN, {"a": 10.0}).rest({}, 1) == Rest(seconds=10.0, never=2)


def test_what_runs_longer_than_the_last_time_is_told() -> None:
    assert Outlook(CHAIN, TEN).rest({"a": 11.0}, 1) == Rest(seconds=20.0, over=1)


def test_next_is_what_waits_for_nothing_but_what_runs() -> None:
    outlook = Outlook({"a": (), "b": (), "c": ("b", "a"), "d": ("c",), "e": ("b",)}, {})

    assert outlook.then(["a"], 5) == []
    assert outlook.then(["a", "b"], 5) == [("c", ("a", "b")), ("e", ("b",))]
    assert outlook.then(["a", "b"], 1) == [("c", ("a", "b"))]


def test_who_is_free_takes_the_next_of_the_plan() -> None:
    needs = {"long": (), "short": (), "behind": ("short",), "last": ()}
    seconds = {"long": 9.0, "short": 1.0, "behind": 5.0, "last": 4.0}

    # 0-1 short, 1-6 behind, 6-10 last beside long
    assert Outlook(needs, seconds).rest({}, 2).seconds == 10.0
