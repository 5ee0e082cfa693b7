"""kill -9 between any two writes, and at any time: the next build is right, nothing is lost."""

from __future__ import annotations

import re
import shutil
import signal
import time

import pytest

from tests.laws.conftest import Law
from tests.laws.counts import chance, runs
from tests.laws.repo import LANDS, LawRepo

pytestmark = pytest.mark.long_file(seconds=60)

BEATS = 4
"""How many signs of life more a slow build gives than a quick one."""


def emptied(repo: LawRepo) -> LawRepo:
    """As nobody has built it."""
    (repo.root / "counter").unlink(missing_ok=True)
    for name in (".qnnbuild", "build"):
        shutil.rmtree(repo.root / name, ignore_errors=True)
    return repo


@pytest.fixture
def changes(repo: LawRepo) -> int:
    """How often an undisturbed build changes the disk."""
    return counted(repo)


def counted(repo: LawRepo) -> int:
    done = repo.in_a_process()
    assert done.code == 0, done.said
    return changes_in(done.said)


def changes_in(said: str) -> int:
    (found,) = re.findall(r"^(\d+) changes$", said, re.MULTILINE)
    return int(found)


def disturbed(repo: LawRepo, text: str) -> LawRepo:
    """Built, and then with an edited source and a damaged bundle, whose artifact is whole."""
    (repo.root / "c.txt").write_text("3")
    first = repo.build()
    assert first.code == 0, first.said
    (repo.root / "c.txt").write_text(text)
    file = min(path for path in (repo.root / "build" / LANDS).rglob("*") if path.is_file())
    file.unlink()
    file.write_bytes(b"spoiled")
    return repo


def held_after(repo: LawRepo, law: Law, about: object) -> None:
    """The law behind a kill; also that what was recorded by then is not made again."""
    recorded = repo.recorded()
    done = repo.build()

    law.holds(repo, done, about)
    assert recorded.isdisjoint(done.ran), (about, recorded, done.said)
    assert list((repo.store / "tmp").iterdir()) == [], about
    assert list((repo.root / "build").rglob(".*")) == [], about


def test_a_build_killed_at_any_change_of_the_disk_is_completed_by_the_next(
    repo: LawRepo, law: Law, changes: int
) -> None:
    points = list(range(1, changes + 1))
    for point in sorted(chance("killed").sample(points, min(changes, runs(4, changes)))):
        killed = emptied(repo).in_a_process(deadly=point)
        # each half second a build tells its neighbours that it lives: a quick one has fewer changes
        ended = killed.code == 0 and changes - BEATS <= changes_in(killed.said) < point
        assert ended or killed.code == -signal.SIGKILL, (point, killed.said)

        held_after(repo, law, point)


def test_a_second_build_killed_at_any_change_loses_nothing_of_the_first(
    repo: LawRepo, law: Law
) -> None:
    """It finds a damaged bundle, an edited source, and all else as it was."""
    chosen, wanted = chance("killed again"), runs(1, 100)
    changes = counted(disturbed(repo, "undisturbed"))
    kills = 0
    for number in range(3 * wanted):
        if kills == wanted:
            break
        point = chosen.randrange(1, changes)
        killed = disturbed(repo, f"edit {number}").in_a_process(deadly=point)
        # what an edit leads to may be equal to what was there: then there is less to do
        assert killed.code in (0, -signal.SIGKILL), (number, point, killed.said)
        kills += killed.code != 0
        (repo.root / "c.txt").write_text("3")
        done = repo.build()

        law.holds(repo, done, number)
        assert done.ran == (), (number, done.said)
    assert kills == wanted


def test_a_build_killed_at_any_time_is_completed_by_the_next(
    repo: LawRepo, law: Law, changes: int
) -> None:
    """With the server and its children, as a power cut does it, or alone, as `kill -9` does."""
    chosen = chance("killed at any time")
    began = time.monotonic()
    emptied(repo).in_a_process()
    whole = time.monotonic() - began
    for number in range(runs(2, 200)):
        going = emptied(repo).begun()
        if not going.ends_within(chosen.uniform(0.0, 1.0) * whole):
            if chosen.random() < 0.5:
                going.kill_children()
            going.kill()
        going.wait()

        held_after(repo, law, number)
