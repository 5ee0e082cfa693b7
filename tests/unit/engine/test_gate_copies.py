"""The copies that the gate makes: what happens when one cannot be made, or somebody ends it."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from qnnbuild.digest import Digest
from qnnbuild.engine import gate
from qnnbuild.engine.gate_copies import _Copying
from qnnbuild.engine.gate_restore import restore
from qnnbuild.engine.store import Gone, Store
from qnnbuild.engine.whole_folders import WholeFolders
from tests.unit.engine.fake_world import artifact
from tests.unit.engine.restorable import BUNDLES, ENDS, PLAN, Restorable, gone, names


def test_of_a_model_that_is_not_whole_the_others_came_and_no_end_did(
    built: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """index.json would list what is not there."""
    copies = Store.copy

    def gone_once(store: Store, digest: Digest, to: Path) -> None:
        if digest == wanted:
            raise Gone("collected")
        copies(store, digest, to)

    wanted = artifact(built.world.open(*PLAN), "bundle/m@B").name.removeprefix(".")
    monkeypatch.setattr(Store, "copy", gone_once)
    gone(built)
    seen = built.look()

    assert names(restore(seen)) == [name for name in BUNDLES if name != "bundle/m@B"]
    assert seen.recipes is None
    assert seen.gone == list(ENDS)
    assert [one.name for one in built.look().came] == names(seen.came)  # to be told by the build


def test_an_interrupt_tells_that_nothing_is_lost_and_leaves_nothing(
    built: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object, count: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Copying, "_begin", interrupted)
    gone(built)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        restore(built.look(), say=said.append)

    assert said == ["stopped: restored 0 of 6; the same command goes on\n"]
    for folder in ("tmp", "builds"):
        assert list((built.root / ".qnnbuild" / folder).iterdir()) == [], folder


def test_a_machine_without_threads_leaves_it_to_the_build(
    built: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    gone(built)
    seen = built.look()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        came = restore(seen)

    assert came == []
    assert not seen.closed


def test_a_bug_in_a_thread_is_seen(built: Restorable, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> Path:
        raise ZeroDivisionError

    monkeypatch.setattr(WholeFolders, "fill", wrong)
    gone(built)
    with pytest.raises(ZeroDivisionError):
        restore(built.look())


def test_what_killed_ones_left_goes(built: Restorable) -> None:
    left = built.root / ".qnnbuild" / "tmp" / "0123"
    (left / "7").mkdir(parents=True)
    left.with_suffix(".lock").touch()
    gone(built)
    restore(built.look())

    assert list((built.root / ".qnnbuild" / "tmp").iterdir()) == []


def test_where_the_gate_cannot_be_written_it_is_all_the_same_true(
    built: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(gate, "write", refused)
    gone(built)
    seen = built.look()

    assert names(restore(seen)) == BUNDLES
    assert seen.is_shut
    assert built.look().recipes is None


def _a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("mine")


def _a_folder_in_the_place_of_a_copy(path: Path) -> None:
    (path / "index.json").unlink()
    (path / "index.json" / "mine").mkdir(parents=True)


@pytest.mark.parametrize("change", [_a_file, _a_folder_in_the_place_of_a_copy, shutil.rmtree])
def test_without_room_for_copies_of_the_ends_a_build_is_as_good(built: Restorable, change) -> None:
    before = built.files()
    change(built.root / ".qnnbuild" / "ends")
    gone(built)
    seen = built.look()
    restore(seen)
    built.build()

    assert seen.recipes is None
    assert built.files() == before
    assert built.look().is_shut
