"""A disk that is full or cannot be written: it is told, and with room the build goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from qnnbuild.errors import StoreError
from tests.laws.conftest import Law
from tests.laws.counts import chance, runs
from tests.laws.mounted import grow, read_only, small
from tests.laws.repo import LawRepo

pytestmark = pytest.mark.long_file(seconds=30)

ENOUGH = 1 << 16
NO_ROOM = ("No space left on device", "disk is full", "has too little room")
NO_WAY = ("Read-only file system", "readonly database", "unable to open database file")


def sizes(law: str, most: int, few: int, full: int) -> list[int]:
    """Kilobytes, from almost nothing to almost enough, so that it ends at every point."""
    chosen = chance(law)
    return sorted(chosen.randrange(4, most, 4) for _ in range(runs(few, full)))


@pytest.mark.parametrize("where", [".qnnbuild", "build"])
def test_a_full_disk_is_told_and_costs_nothing_that_was_recorded(
    repo: LawRepo, law: Law, where: str
) -> None:
    folder = repo.root / where
    told = 0
    for kilobytes in sizes(f"full {where}", 400, 2, 200):
        (repo.root / "counter").unlink(missing_ok=True)
        for name in (".qnnbuild", "build"):
            shutil.rmtree(repo.root / name, ignore_errors=True)
        with small(folder, kilobytes):
            before = repo.build("--continue")
            recorded = repo.recorded()
            grow(folder, ENOUGH)
            done = repo.build()

            law.holds(repo, done, kilobytes)
            assert recorded.isdisjoint(done.ran), (kilobytes, before.said)
        if before.code:
            told += 1
            assert before.code == StoreError.exit_code, (kilobytes, before.said)
            assert any(words in before.said for words in NO_ROOM), (kilobytes, before.said)

    assert told > 0


def test_a_disk_that_is_full_later_costs_nothing(repo: LawRepo, law: Law) -> None:
    """All was built; an edit needs room that there is not."""
    with small(repo.store, ENOUGH):
        repo.build()
        filler = repo.store / "filler"
        for kilobytes in sizes("later", 120, 1, 100):
            free = shutil.disk_usage(repo.store).free
            filler.write_bytes(bytes(max(0, free - kilobytes * 1024)))
            (repo.root / "c.txt").write_text("8")
            repo.build("--continue")
            (repo.root / "c.txt").write_text("3")
            between = repo.build("--continue")
            filler.unlink()
            done = repo.build()

            law.holds(repo, done, kilobytes)
            assert done.ran == between.ran == (), kilobytes


def test_a_build_of_nothing_needs_no_room_and_no_writing(repo: LawRepo, law: Law) -> None:
    repo.build()
    repo.settle()
    with read_only(repo.root):
        done = repo.in_a_process()

    assert done.code == 0, done.said
    assert done.said.startswith("nothing to do: reused 5")
    law.holds(repo, repo.build())


@pytest.mark.parametrize("where", [".qnnbuild", "build", ".qnnbuild/artifacts", ".qnnbuild/logs"])
def test_what_cannot_be_written_is_told_with_a_way_out(repo: LawRepo, law: Law, where: str) -> None:
    repo.build()
    (repo.root / "a.txt").write_text("9")
    with read_only(repo.root / where):
        refused = repo.build()
    (repo.root / "a.txt").write_text("1")
    done = repo.build()

    assert refused.code == StoreError.exit_code, refused.said
    assert any(words in refused.said for words in NO_WAY), refused.said
    law.holds(repo, done)
    assert done.ran == ()


def test_a_store_that_cannot_be_written_is_told_also_when_all_is_current(
    repo: LawRepo, law: Law
) -> None:
    repo.build()
    Path(repo.store / "gate").unlink()
    with read_only(repo.store):
        refused = repo.build()

    assert refused.code == StoreError.exit_code, refused.said
    assert "hint: give another folder with QNNBUILD_STORE" in refused.said
    law.holds(repo, repo.build())
