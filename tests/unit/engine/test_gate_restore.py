"""What the gate puts back by itself, what it leaves to the build, and what it never believes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.engine import gate_restore, stats
from qnnbuild.engine.gate import Restored
from qnnbuild.engine.gate_restore import restore, told
from qnnbuild.engine.leases import Lease
from qnnbuild.engine.state import Current
from qnnbuild.engine.whole_folders import WholeFolders
from qnnbuild.errors import StoreError
from tests.unit.engine.fake_world import artifact, ran
from tests.unit.engine.restorable import BUNDLES, ENDS, MODELS, PLAN, Restorable, gone, names


def test_all_of_build_comes_back_and_the_gate_is_shut(built: Restorable) -> None:
    before = built.files()
    gone(built)
    seen = built.look()
    opened = seen.recipes
    restored = restore(seen)

    assert opened is None
    assert names(restored) == BUNDLES
    assert built.files() == before
    assert seen.is_shut
    assert {name: group.actions for name, group in seen.closed.items()} == {"m": 4, "n": 4}


def test_the_next_look_finds_all_as_it_was(built: Restorable) -> None:
    gone(built)
    restore(built.look())
    seen = built.look()

    assert seen.is_shut
    assert (dict(seen.touched), seen.gone) == ({}, [])
    assert restore(seen) == []


def test_what_is_written_at_once_after_it_came_back_is_seen(built: Restorable) -> None:
    """Its size is the same, and nobody waited until its time was another."""
    gone(built)
    restore(built.look())
    path = built.root / "build" / "n" / "C" / "o.txt"
    path.write_text(path.read_text()[:-1] + "!")

    assert list(built.look().closed) == ["m"]


def test_a_full_look_reads_none_of_it_again(
    built: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone(built)
    restore(built.look())

    def no_reading(path: Path) -> str:
        raise AssertionError(f"{path} is read")

    builder = built.world.open(*PLAN)
    monkeypatch.setattr(stats, "digest_file", no_reading)
    assert all(isinstance(builder.state(one.name), Current) for one in PLAN)
    assert ran(builder) == []


def test_one_folder_that_is_gone_comes_back_alone(built: Restorable) -> None:
    stays = (built.root / "build" / "m" / "A" / "o.txt").stat()
    gone(built, "m/B", "n/A")
    seen = built.look()
    restored = restore(seen)

    assert names(restored) == ["bundle/m@B", "bundle/n@A"]
    assert seen.is_shut
    assert (built.root / "build" / "m" / "A" / "o.txt").stat() == stays


def test_beside_a_model_that_changed_the_other_comes_back(built: Restorable) -> None:
    """index.json has both, and so has to be back before the build that sees one."""
    built.world.write(m_txt="other")
    gone(built)
    seen = built.look()
    restored = restore(seen)

    assert names(restored) == [name for name in BUNDLES if name.startswith("bundle/n")]
    assert seen.recipes == ("recipes/m.yaml",)
    assert (built.root / "build" / "index.json").exists()
    assert not (built.root / "build" / "m").exists()


def test_where_the_gate_has_to_be_shut_then_nothing_is_begun_otherwise(built: Restorable) -> None:
    built.world.write(m_txt="other")
    gone(built)

    assert restore(built.look(), must_shut=True) == []
    assert not (built.root / "build").exists()


def test_where_it_can_be_shut_all_is_put_back(built: Restorable) -> None:
    gone(built)
    seen = built.look()

    assert names(restore(seen, must_shut=True)) == BUNDLES
    assert seen.is_shut


def _one_file_only(built: Restorable) -> None:
    (built.root / "build" / "m" / "A" / "o.txt").unlink()


def _somebody_elses_file(built: Restorable) -> None:
    (built.root / "build" / "m" / "A" / "o.txt").unlink()
    (built.root / "build" / "m" / "A" / "notes.txt").write_text("mine")


def _a_damaged_artifact(built: Restorable) -> None:
    gone(built, "m/A")
    path = artifact(built.world.open(*PLAN), "bundle/m@A")
    signature = path.stat()
    path.chmod(0o644)
    path.write_text("?" * signature.st_size)
    os.utime(path, ns=(signature.st_atime_ns, signature.st_mtime_ns))


def _an_artifact_that_is_gone(built: Restorable) -> None:
    gone(built, "m/A")
    artifact(built.world.open(*PLAN), "bundle/m@A").unlink()


def _a_changed_file_beside(built: Restorable) -> None:
    gone(built, "m/A")
    (built.root / "build" / "m" / "B" / "o.txt").write_text("changed")


def _a_new_recipe_text(built: Restorable) -> None:
    gone(built, "m/A")
    (built.root / "recipes" / "m.yaml").write_text("other")


@pytest.mark.parametrize(
    "change",
    [
        _one_file_only,
        _somebody_elses_file,
        _a_damaged_artifact,
        _an_artifact_that_is_gone,
        _a_changed_file_beside,
        _a_new_recipe_text,
    ],
)
def test_what_is_more_than_lacking_is_left_to_the_build(built: Restorable, change) -> None:
    change(built)
    gone(built, "n/A")
    seen = built.look()

    assert names(restore(seen)) == ["bundle/n@A"]
    assert seen.recipes == ("recipes/m.yaml",)
    assert built.look().recipes == ("recipes/m.yaml",)


def _without_its_record(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (built.root / ".qnnbuild" / "records").rglob("*.json"):
        path.write_text("{}")


def _of_strangers(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")


def _very_much(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_restore, "MOST_BYTES", 10)


def _on_another_disk(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WholeFolders, "reaches", lambda *_: False)


def _a_full_disk(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(WholeFolders, "fill", full)


def _a_store_that_cannot_be_written(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Lease:
        raise StoreError("the build cannot be noted in the store")

    monkeypatch.setattr(Lease, "take", refused)


@pytest.mark.parametrize(
    "where",
    [
        _without_its_record,
        _of_strangers,
        _very_much,
        _on_another_disk,
        _a_full_disk,
        _a_store_that_cannot_be_written,
    ],
)
def test_where_it_is_not_for_the_gate_nothing_comes(
    built: Restorable, monkeypatch: pytest.MonkeyPatch, where
) -> None:
    where(built, monkeypatch)
    gone(built, *MODELS)
    seen = built.look()

    assert seen.listed is not None
    assert restore(seen) == []
    assert not seen.closed
    assert [path for path in built.files() if "/" in path] == []
    assert list((built.root / ".qnnbuild" / "tmp").iterdir()) == []


def test_nothing_is_left_in_the_store(built: Restorable) -> None:
    gone(built)
    restore(built.look())

    for folder in ("tmp", "builds", "locks"):
        assert list((built.root / ".qnnbuild" / folder).iterdir()) == [], folder


def test_a_gate_that_another_build_wrote_meanwhile_stands(built: Restorable) -> None:
    gone(built)
    seen = built.look()
    theirs = seen.file.read_bytes()
    seen.file.write_bytes(theirs)
    restored = restore(seen)

    assert names(restored) == BUNDLES
    assert seen.is_shut  # for this build, which knows what it did
    assert seen.file.read_bytes() == theirs


@pytest.mark.parametrize("end", ENDS)
def test_what_the_end_of_a_build_wrote_comes_back_alone(built: Restorable, end: str) -> None:
    before = built.files()
    (built.root / end).unlink()
    seen = built.look()

    assert seen.recipes is None
    assert restore(seen, must_shut=True) == []
    assert seen.is_shut
    assert built.files() == before
    assert built.look().is_shut


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: path.write_text("?")])
def test_without_a_right_copy_of_an_end_everything_is_looked_at(built: Restorable, change) -> None:
    gone(built)
    change(built.root / ".qnnbuild" / "ends" / "report.html")
    seen = built.look()

    assert names(restore(seen)) == BUNDLES
    assert seen.recipes is None
    assert not (built.root / "build" / "report.html").exists()


def test_an_end_that_another_build_has_written_meanwhile_stays(built: Restorable) -> None:
    gone(built)
    seen = built.look()
    (built.root / "build").mkdir()
    (built.root / "build" / "index.json").write_text("newer")
    restore(seen)

    assert (built.root / "build" / "index.json").read_text() == "newer"
    assert seen.recipes is None
    assert built.look().recipes is None


def test_an_end_that_was_changed_is_looked_at(built: Restorable) -> None:
    gone(built, "m")
    (built.root / "build" / "index.json").write_text("mine")
    seen = built.look()

    assert restore(seen) == []
    assert seen.recipes is None


def test_before_what_takes_a_while_it_is_told(
    built: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_restore, "TOLD_BYTES", 100)
    size = sum(len(text) for path, text in built.files().items() if "/" in path)
    gone(built)
    said: list[str] = []
    restore(built.look(), say=said.append)

    assert said == [f"restoring 6 bundles, {size} B\n"]


def test_each_is_told_with_what_making_it_warned_of(built: Restorable) -> None:
    gone(built, "m/A")
    came = restore(built.look())

    assert came == [Restored("bundle/m@A", "m", 2.5, ("mind this",))]
    assert told(came) == "restored bundle/m@A (0.0 s)\n  warning: mind this\n"
