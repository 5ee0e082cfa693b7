"""The clock of the machine jumps, between builds and in them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from qnnbuild.engine.garbage import Rules, collect
from qnnbuild.engine.leases import checkout_of
from qnnbuild.engine.places import RECORDS
from qnnbuild.engine.records import Records
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from tests.laws.conftest import Law
from tests.laws.counts import chance, runs
from tests.laws.repo import LawRepo

DAY_S = 86_400
JUMPS = (-DAY_S, 365 * DAY_S, -1)


def jumping(monkeypatch: pytest.MonkeyPatch, offset: Callable[[], int]) -> None:
    """What every part of the engine asks for the time; files keep the kernel's."""
    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + offset())
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + offset() * 1_000_000_000)


def edit_and_go_back(repo: LawRepo) -> None:
    (repo.root / "a.txt").write_text("9")
    done = repo.build()
    assert done.code == 0, done.said
    (repo.root / "a.txt").write_text("1")


@pytest.mark.parametrize("jump", JUMPS)
def test_a_clock_that_jumped_between_builds_costs_no_run(
    repo: LawRepo, law: Law, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    repo.build()
    with monkeypatch.context() as patched:
        jumping(patched, lambda: jump)
        law.holds(repo, repo.build())
        edit_and_go_back(repo)
        done = repo.build()
        law.holds(repo, done)
        assert done.ran == ()
    done = repo.build()

    law.holds(repo, done)
    assert done.ran == ()


def test_a_clock_that_jumps_all_the_time_changes_nothing(
    repo: LawRepo, law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: random.Random = chance("clock")
    for number in range(runs(2, 50)):
        with monkeypatch.context() as patched:
            jumping(patched, lambda: chosen.choice(JUMPS))
            edit_and_go_back(repo)
            done = repo.build()

            law.holds(repo, done, number)
            assert number == 0 or done.ran == (), done.said


@pytest.mark.parametrize("jump", JUMPS)
def test_garbage_is_collected_by_any_clock_and_what_is_reachable_stays(
    repo: LawRepo, law: Law, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    repo.build()
    with monkeypatch.context() as patched:
        jumping(patched, lambda: jump)
        records = Records(repo.store / RECORDS, checkout_of(repo.root))
        collect(Store(repo.store, Stats()), records, Rules(keep_days=1))
        records.close()
    done = repo.build()

    law.holds(repo, done)
    assert done.ran == ()
