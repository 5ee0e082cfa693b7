"""A bit flipped, or an end cut off, in any file of the store: nothing wrong ships, nothing is lost.

Faults come one after the other in one repo, each put right by the build behind it and by `store
verify`, so that each is met alone.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.engine.leases import checkout_of
from qnnbuild.engine.places import RECORDS
from qnnbuild.engine.records import Records
from qnnbuild.engine.signature import Signature
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.store_check import check
from tests.laws.conftest import Law
from tests.laws.counts import chance, runs
from tests.laws.repo import WORKS, LawRepo

pytestmark = pytest.mark.long_file(seconds=30)

Harm = Callable[[random.Random, bytes], bytes]


def flipped(chosen: random.Random, data: bytes) -> bytes:
    """One bit. What is zero is mostly no part of anything, so half of the time it is left."""
    at = chosen.randrange(len(data))
    while not data[at] and chosen.random() < 0.5:
        at = chosen.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chosen.randrange(8)]) + data[at + 1 :]


def cut(chosen: random.Random, data: bytes) -> bytes:
    return data[: chosen.randrange(len(data))]


def zeroed(chosen: random.Random, data: bytes) -> bytes:
    """A block that the disk gives back empty."""
    block = 4096
    at = block * chosen.randrange(1 + len(data) // block)
    gone = data[at : at + block]
    return data[:at] + bytes(len(gone)) + data[at + len(gone) :]


def overwrite(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(mode)


def chosen_file(chosen: random.Random, repo: LawRepo) -> Path:
    """Each kind of file as often as another, and the database more often."""
    kinds: dict[str, list[Path]] = {}
    for path in repo.stored():
        if path.stat().st_size and ".damaged-" not in path.name:
            kinds.setdefault(path.relative_to(repo.store).parts[0], []).append(path)
    return chosen.choice(kinds[chosen.choice([*sorted(kinds), RECORDS, RECORDS])])


def verify(repo: LawRepo) -> None:
    """As `qnnbuild store verify`; what a build does not look at is found by nothing else."""
    records = Records(repo.store / RECORDS, checkout_of(repo.root))
    try:
        told = check(Store(repo.store, Stats()), records)
        again = check(Store(repo.store, Stats()), records)
    finally:
        records.close()

    assert told.artifacts > 0
    assert (again.damaged, again.mended, again.database) == ([], [], [])


@pytest.mark.parametrize("harm", [flipped, cut, zeroed])
def test_one_damaged_file_costs_at_most_the_work_that_made_it(
    repo: LawRepo, law: Law, harm: Harm
) -> None:
    chosen = chance(f"damaged {harm.__name__}")
    repo.build()
    for number in range(runs(8, 400)):
        path = chosen_file(chosen, repo)
        about = f"{number}: {harm.__name__} {path.relative_to(repo.store)}"
        overwrite(path, harm(chosen, path.read_bytes()))
        if chosen.random() < 0.8:
            (repo.store / "gate").unlink(missing_ok=True)
        done = repo.build()

        law.holds(repo, done, about)
        assert len(done.ran) <= ("artifacts" in path.parts), (about, done.said)
        verify(repo)


@pytest.mark.parametrize("harm", [flipped, cut])
def test_a_damaged_log_of_the_database_costs_no_run(repo: LawRepo, law: Law, harm: Harm) -> None:
    """The write-ahead log as a killed build leaves it, with all that was made in it alone."""
    chosen = chance(f"log {harm.__name__}")
    held = repo.store / "held"
    repo.store.mkdir()
    reader = Records(repo.store / RECORDS, "reads")  # the last that closes empties the log
    repo.build()
    held.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(repo.store / (RECORDS + suffix), held)
    reader.close()
    assert (held / f"{RECORDS}-wal").stat().st_size > 10_000
    for number in range(runs(3, 100)):
        for path in repo.store.glob(f"{RECORDS}*"):
            path.unlink()
        for path in held.iterdir():
            shutil.copy(path, repo.store)
        log = repo.store / f"{RECORDS}-wal"
        log.write_bytes(harm(chosen, log.read_bytes()))
        (repo.store / "gate").unlink(missing_ok=True)
        done = repo.build()

        law.holds(repo, done, number)
        assert done.ran == (), (number, done.said)


def change_silently(repo: LawRepo, path: Path, data: bytes) -> None:
    """As a disk does it: what is remembered of the file fits what is there now."""
    overwrite(path, data)
    records = Records(repo.store / RECORDS, checkout_of(repo.root))
    signature = Signature.of(path)
    assert signature is not None
    records.keep_stats({str(path): (signature, path.name)})
    records.close()


def test_what_a_disk_changes_without_a_time_stamp_goes_nowhere(repo: LawRepo, law: Law) -> None:
    chosen = chance("silent")
    repo.build()
    for number in range(runs(3, 100)):
        artifacts = [path for path in repo.stored() if "artifacts" in path.parts]
        path = chosen.choice(artifacts)
        change_silently(repo, path, flipped(chosen, path.read_bytes()))
        shutil.rmtree(repo.root / "build")  # all of the bundle is copied again
        (repo.root / "c.txt").write_text(str(4 + number % 5))  # and something reads artifacts
        other = repo.build()
        (repo.root / "c.txt").write_text("3")
        done = repo.build()

        assert other.code == 0, other.said
        law.holds(repo, done, (number, path.name))
        verify(repo)


def test_everything_of_the_store_but_artifacts_and_records_may_go(repo: LawRepo, law: Law) -> None:
    repo.build()
    for path in repo.stored():
        if not {"artifacts", "records"} & set(path.parts):
            path.unlink()
    done = repo.build()

    law.holds(repo, done)
    assert done.ran == ()
    assert f"found again: {WORKS} records" in done.said


def test_the_times_of_files_may_be_any(repo: LawRepo, law: Law) -> None:
    """In the future, before 1970: a clock that jumped while they were written."""
    chosen = chance("times")
    repo.build()
    for _ in range(runs(2, 100)):
        for path in [*repo.root.glob("*.txt"), *repo.stored()]:
            moment = chosen.randrange(-(10**9), 5 * 10**9)
            os.utime(path, (moment, moment))
        done = repo.build()

        law.holds(repo, done)
        assert done.ran == ()
