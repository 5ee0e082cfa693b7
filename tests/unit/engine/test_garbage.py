from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from qnnbuild.actions.key import key_of
from qnnbuild.actions.record import Record, Tree
from qnnbuild.engine.garbage import Collected, Rules, collect
from qnnbuild.engine.leases import Lease
from qnnbuild.engine.records import Records
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store

DAY = 86_400
OLD = time.time() - 30 * DAY


class Kept:
    """A store in which everything was made, and used last, 30 days ago."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root / "store", Stats())
        self.records = Records(root / "store" / "records.db", "here")
        (root / "repo").mkdir()
        self.records.keep_checkout(str(root / "repo"))

    def put(self, name: str, *texts: str, checkout: str = "here", days: float = 30) -> Record:
        files = {f"{n}.bin": self.add(text) for n, text in enumerate(texts)}
        parts = {"name": name, "of": list(texts)}
        record = Record(
            key=key_of(parts),
            name=name,
            step="convert",
            parts=parts,
            outputs={"o": Tree(files=files)},
        )
        records = self.records
        if checkout != "here":
            records = Records(self.root / "store" / "records.db", checkout)
            records.keep_checkout(str(self.root / checkout))
        records.put(record, name)
        when = int(time.time() - days * DAY)
        records._db.write(("update records set used=? where key=?", [(when, record.key)]))
        if records is not self.records:
            records.close()
        return record

    def add(self, text: str) -> tuple[str, int]:
        with self.store.private() as folder:
            (folder / "made").write_text(text)
            digest, size = self.store.add(folder / "made")
        os.utime(self.store.path(digest), (OLD, OLD))
        return digest, size

    def gc(self, **rules: object) -> Collected:
        return collect(self.store, self.records, Rules(**rules))  # type: ignore[arg-type]

    def names(self) -> list[str]:
        found = [self.records.get(key) for key, *_ in self.records.rows()]
        return sorted(record.name for record in found if record)

    def texts(self) -> list[str]:
        return sorted(p.read_text() for p in (self.root / "store/artifacts").glob("*/*"))


@pytest.fixture
def kept(tmp_path: Path):
    made = Kept(tmp_path)
    yield made
    made.records.close()


def test_what_the_recipes_plan_stays_however_old_it_is(kept):
    kept.put("convert/m", "aa")
    told = kept.gc(names=["convert/m"])

    assert (told.records, told.artifacts, told.freed_bytes) == (0, 0, 0)
    assert (told.kept_records, told.kept_bytes) == (1, 2)
    assert kept.texts() == ["aa"]


def test_what_no_recipe_plans_goes_with_its_artifacts(kept):
    kept.put("convert/m", "aa")
    kept.put("convert/gone", "bbb")
    told = kept.gc(names=["convert/m"])

    assert (told.records, told.artifacts, told.freed_bytes) == (1, 1, 3)
    assert (kept.names(), kept.texts()) == (["convert/m"], ["aa"])
    assert kept.records.last().keys() == {"convert/m"}


def test_without_a_plan_all_names_that_were_built_here_count(kept):
    kept.put("convert/gone", "bbb")

    assert kept.gc().records == 0


def test_an_artifact_that_another_record_names_stays(kept):
    kept.put("convert/m", "same")
    kept.put("convert/gone", "same", "own")
    kept.gc(names=["convert/m"])

    assert kept.texts() == ["same"]


def test_yesterdays_record_stays_for_whoever_goes_back(kept):
    kept.put("convert/m", "before", days=3)
    kept.put("convert/m", "now")

    assert kept.gc(names=["convert/m"]).records == 0
    assert kept.texts() == ["before", "now"]
    assert kept.gc(names=["convert/m"], keep_days=2).records == 0  # it was left just now


def test_what_was_left_long_ago_goes(kept):
    before = kept.put("convert/m", "before")
    kept.put("convert/m", "now")
    kept.records._db.write(("update records set used=? where key=?", [(int(OLD), before.key)]))

    assert kept.gc(names=["convert/m"]).records == 1
    assert kept.texts() == ["now"]


def test_a_record_of_an_older_form_is_as_old_as_its_run(kept):
    record = kept.put("convert/gone", "x")
    young = replace(record, key=key_of({"a": 1}), parts={"a": 1}, made="2999-01-01T00:00:00+00:00")
    kept.records.take(young)
    kept.records._db.write(("update records set used=0", [()]))

    assert kept.gc(names=[]).records == 1
    assert [key for key, *_ in kept.records.rows()] == [young.key]


def test_another_checkout_keeps_what_it_has(kept):
    (kept.root / "there").mkdir()
    kept.put("convert/m", "theirs", checkout="there")

    assert kept.gc(names=[]).records == 0


def test_a_checkout_whose_folder_is_gone_keeps_nothing(kept):
    kept.put("convert/m", "theirs", checkout="there")
    told = kept.gc(names=[])

    assert (told.checkouts, told.records) == (1, 1)
    assert kept.texts() == []
    assert kept.records.checkouts().keys() == {"here"}


def test_a_dry_run_says_the_same_and_does_nothing(kept):
    kept.put("convert/m", "aa")
    kept.put("convert/gone", "bbb")
    would = kept.gc(names=["convert/m"], dry_run=True)
    texts, names = kept.texts(), kept.names()
    did = kept.gc(names=["convert/m"])

    assert would == did
    assert (texts, names) == (["aa", "bbb"], ["convert/gone", "convert/m"])


def test_an_artifact_without_a_record_goes_when_it_is_old(kept):
    kept.add("old")
    young, _ = kept.add("young")
    os.utime(kept.store.path(young))
    kept.gc()

    assert kept.texts() == ["young"]


def test_what_is_added_again_is_young(kept):
    kept.add("again")
    with kept.store.private() as folder:
        (folder / "made").write_text("again")
        kept.store.add(folder / "made")
    kept.gc()

    assert kept.texts() == ["again"]


def test_the_longest_unused_goes_first_when_there_is_too_much(kept):
    kept.put("convert/a", "aaaa", days=1)
    kept.put("convert/b", "bbbb", days=2)
    kept.put("convert/m", "mmmm", days=9)
    told = kept.gc(names=["convert/m"], max_bytes=8)

    assert (told.records, told.reachable_dropped, told.over_bytes) == (1, 0, 0)
    assert kept.texts() == ["aaaa", "mmmm"]


def test_what_is_reachable_goes_last_and_is_told(kept):
    kept.put("convert/a", "aaaa", days=1)
    kept.put("convert/m", "mmmm", days=9)
    told = kept.gc(names=["convert/m"], max_bytes=3)

    assert (told.records, told.reachable_dropped, told.kept_bytes) == (2, 1, 0)


def test_what_several_records_share_is_room_once(kept):
    kept.put("convert/a", "aaaa", days=1)
    kept.put("convert/b", "aaaa", days=2)
    told = kept.gc(names=[], max_bytes=4)

    assert told.records == 0


def test_a_build_that_runs_loses_nothing_that_it_had(kept):
    kept.put("convert/m", "aa")
    lease = Lease.take(kept.store.root, "here")
    told = kept.gc(names=[], keep_days=0, max_bytes=0)
    lease.end()
    after = kept.gc(names=[], keep_days=0)

    assert (told.records, told.over_bytes, told.builds) == (0, 2, 1)
    assert after.records == 1


def test_what_a_running_build_made_since_it_began_stays(kept):
    (kept.root / "there").mkdir()
    lease = Lease.take(kept.store.root, "there")
    digest, _ = kept.add("new")
    os.utime(kept.store.path(digest))
    kept.put("convert/new", "more", days=-1)  # its clock is a day ahead
    kept.gc(names=[], keep_days=0, max_bytes=0)
    lease.end()

    assert kept.texts() == ["more", "new"]


def test_what_a_remote_cache_has_takes_no_room_and_is_forgotten_with_its_record(kept):
    kept.put("convert/a", "aaaa", days=1)
    remote = replace(
        kept.put("convert/gone", "x"),
        key=key_of({"r": 1}),
        parts={"r": 1},
        outputs={"o": Tree(files={"m": ("f" * 64, 1000)})},
    )
    kept.records.put(remote, "convert/far")
    kept.records.keep_elsewhere({"f" * 64: 1000})
    told = kept.gc(names=["convert/a", "convert/far"], max_bytes=4)
    there = kept.records.elsewhere()
    kept.records._db.write(("update records set used=?", [(int(OLD),)]))
    kept.gc(names=["convert/a"])

    assert (told.records, told.kept_records, told.kept_bytes) == (1, 2, 4)
    assert there == {"f" * 64: 1000}
    assert kept.records.elsewhere() == {}


def test_logs_go_with_their_records(kept):
    record, gone = kept.put("convert/m", "aa"), kept.put("convert/gone", "bb")
    for key in (record.key, gone.key):
        log = kept.store.log(key)
        log.parent.mkdir(exist_ok=True)
        log.write_text("said")
        log.with_suffix(".failure.json").write_text("{}")
        for path in (log, log.with_suffix(".failure.json")):
            os.utime(path, (OLD, OLD))
    told = kept.gc(names=["convert/m"])

    assert told.logs == 2
    assert kept.store.log(record.key).exists()
    assert not kept.store.log(gone.key).exists()


def test_environments_go_when_they_are_old_and_no_build_runs(kept):
    folder = kept.store.root / "envs" / "abc"
    folder.mkdir()
    (folder / "lib").write_text("12345")
    os.utime(folder, (OLD, OLD))
    lease = Lease.take(kept.store.root, "here")
    during = kept.gc().environments
    lease.end()
    after = kept.gc()

    assert during == 0
    assert (after.environments, after.freed_bytes) == (1, 5)
    assert not folder.exists()


def test_an_artifact_that_is_touched_while_it_is_discarded_is_put_back(kept, monkeypatch):
    digest, _ = kept.add("wanted")
    before = int((time.time() - DAY) * 1e9)
    path, replaced = kept.store.path(digest), os.replace

    def touched_first(source: Path, to: Path) -> None:
        if Path(source) == path:
            os.utime(path)
        replaced(source, to)

    monkeypatch.setattr(os, "replace", touched_first)

    assert kept.store.discard(digest, before) == 0
    assert path.read_text() == "wanted"


def test_what_a_killed_collection_leaves_is_swept(kept, monkeypatch):
    """It moves artifacts into a folder that is held, as each run's own is."""
    digest, _ = kept.add("old")
    replaced, held = os.replace, []

    def look(source: Path, to: Path) -> None:
        held.append(to.parent.with_suffix(".lock").exists())
        replaced(source, to)

    monkeypatch.setattr(os, "replace", look)

    assert kept.store.discard(digest, time.time_ns() + DAY) == 3
    assert held == [True]
    assert [*(kept.store.root / "tmp").iterdir()] == []


def test_an_artifact_that_goes_while_it_is_added_is_there_afterwards(kept, monkeypatch):
    digest, _ = kept.add("wanted")
    path, touch = kept.store.path(digest), os.utime

    def gone_first(which: Path, *times: object) -> None:
        if Path(which) == path:
            path.unlink(missing_ok=True)
        touch(which, *times)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "utime", gone_first)
    with kept.store.private() as folder:
        (folder / "made").write_text("wanted")
        kept.store.add(folder / "made")

    assert path.read_text() == "wanted"


def test_what_a_build_comes_to_while_it_is_chosen_stays(kept, monkeypatch):
    record = kept.put("convert/gone", "bbb")
    drop_names = kept.records.drop_names

    def meanwhile(*args: object) -> None:
        other = Records(kept.root / "store" / "records.db", "other")
        other.set_last({"convert/there": record.key})
        other.close()
        drop_names(*args)

    monkeypatch.setattr(kept.records, "drop_names", meanwhile)
    told = kept.gc(names=["convert/m"])

    assert (told.records, told.artifacts, told.kept_records) == (0, 0, 1)
    assert (kept.records.get(record.key), kept.texts()) == (record, ["bbb"])
