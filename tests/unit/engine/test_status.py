"""How a build stands, in words."""

from __future__ import annotations

import pytest

from qnnbuild.engine.outlook import Rest
from qnnbuild.engine.plain_view import pause, told_status
from qnnbuild.engine.status import Going, Status, roughly, told_rest
from qnnbuild.text.amounts import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
        (3599.9, "1 h 0 min"),
        (18_720, "5 h 12 min"),
        (7_200_000, "2,000 h 0 min"),
    ],
)
def test_durations_are_told_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "1 s"),
        (4.2, "5 s"),
        (10.1, "20 s"),
        (50, "50 s"),
        (51, "1 min"),
        (61, "2 min"),
        (3541, "1 h 0 min"),
        (3661, "1 h 5 min"),
    ],
)
def test_an_estimate_is_no_more_exact_than_it_can_be(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        (None, ""),
        (Rest(seconds=170), "about 3 min left"),
        (Rest(seconds=170, never=2), "at least 3 min left: 2 never ran"),
        (Rest(seconds=0, never=1_200), "time left unknown: 1,200 never ran"),
        (Rest(seconds=0, over=1), "time left unknown: 1 longer than the last time"),
        (
            Rest(seconds=5, never=1, over=1),
            "at least 5 s left: 1 never ran, 1 longer than the last time",
        ),
    ],
)
def test_what_is_not_known_is_said(rest: Rest | None, words: str) -> None:
    assert told_rest(rest) == words


def status(*going: Going, rest: Rest | None = None) -> Status:
    return Status(
        done=1_012, total=20_000, told="made 12", seconds=65.0, going=going, then=(), rest=rest
    )


def run(name: str, spent_s: float = 3.0, **more: object) -> Going:
    return Going(name=name, worker=1, spent_s=spent_s, **more)  # type: ignore[arg-type]


def test_a_log_is_told_how_the_whole_stands_in_one_line() -> None:
    told = status(
        run("a", 30, expected_s=45),
        run("b", where="gpu-7"),
        run("c", 12, waits_for="memory"),
        rest=Rest(seconds=600),
    )

    assert told_status(told) == (
        "1,012 of 20,000 done; about 10 min left; running a (30 s of about 45 s), "
        "b (3.0 s, on gpu-7); waiting for memory: c\n"
    )


def test_a_log_is_not_told_sixty_names() -> None:
    line = told_status(status(*(run(f"a{n}") for n in range(60))))

    assert line.endswith("running a0 (3.0 s), a1 (3.0 s), a2 (3.0 s), a3 (3.0 s) and 56 more\n")


def test_where_nothing_runs_there_is_nothing_to_tell() -> None:
    assert told_status(status()) == ""


def test_a_nights_log_has_a_hundred_such_lines_and_not_a_thousand() -> None:
    spent, lines = 0.0, 0
    while spent < 8 * 3600:
        step = pause(spent)
        assert 30 <= step <= 300
        spent, lines = spent + step, lines + 1

    assert lines < 160
