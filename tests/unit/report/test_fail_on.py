"""Bars of --fail-on: what they hold, and what is told of those that cannot be meant."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.report.fail_on import Limits, limits_of


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        (["nothing"], Limits(cpu=False)),
        (["cpu"], Limits()),
        (["failed", "gone"], Limits(cpu=False, failed=True, gone=True)),
        (["size>5%"], Limits(cpu=False, size_percent=5)),
        (["size > 1.5 kB, size>4%"], Limits(cpu=False, size_bytes=1500, size_percent=4)),
        (["size>5%", "size>3%", "size>4%"], Limits(cpu=False, size_percent=3)),
        (["time>50%,time>2min"], Limits(cpu=False, time_percent=50, time_s=120)),
        (["sqnr<-1dB"], Limits(cpu=False, sqnr_db=1)),
        (["sqnr<0dB"], Limits(cpu=False, sqnr_db=0)),
        (["cpu,sqnr=1,size=5"], Limits(sqnr_db=1, size_percent=5)),
    ],
)
def test_bars_are_data(words: list[str], limits: Limits) -> None:
    assert limits_of(words) == limits


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("szie>5%", "nothing is called 'szie'", "did you mean 'size'?"),
        ("faild", "nothing is called 'faild'", "did you mean 'failed'?"),
        (
            "x",
            "nothing is called 'x'",
            "it takes cpu, gone, failed, size>5%, time>50%, sqnr<-1dB, nothing",
        ),
        ("", "there is an empty word",
         "it takes cpu, gone, failed, size>5%, time>50%, sqnr<-1dB, nothing"),
        ("size", "'size' says no bar",
         '--fail-on "size>5%", in quotes, since a shell takes < and > for itself'),
        ("time>", "'time>' says no bar",
         '--fail-on "time>50%", in quotes, since a shell takes < and > for itself'),
        ("size<5%", "'size<5%' is no bar: it gets worse when it grows", '--fail-on "size>5%"'),
        ("sqnr>1dB", "'sqnr>1dB' is no bar: it gets worse when it falls", '--fail-on "sqnr<-1dB"'),
        ("sqnr<20dB", "'sqnr<20dB' is no change for the worse against the first build",
         '--fail-on "sqnr<-1dB"'),
        ("size>-5%", "'size>-5%' is no change for the worse against the first build",
         '--fail-on "size>5%"'),
        ("size>5mb", "'5mb' in 'size>5mb' is no amount", "a number with one of: %, B, kB, MB, GB"),
        ("size>much", "'much' in 'size>much' is no amount",
         "a number with one of: %, B, kB, MB, GB"),
        ("failed>3", "'failed>3': failed takes no number", "--fail-on failed"),
        ("cpu,nothing", "'nothing' stands alone", "leave nothing out, or the others"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told_with_a_way_out(word: str, message: str, hint: str) -> None:
    with pytest.raises(RecipeError) as raised:
        limits_of([word])
    (problem,) = raised.value.problems

    assert (problem.message, problem.hint) == (f"--fail-on: {message}", hint)


def test_a_share_of_a_compile_counts_when_it_is_more_than_the_machines_own() -> None:
    limits = Limits(time_percent=50)

    assert limits.slower(10, 16)
    assert not limits.slower(1, 5)
    assert not limits.slower(100, 140)
    assert Limits(time_s=3).slower(1, 5)
