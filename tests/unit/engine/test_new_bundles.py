"""A bundle that was not there: all of it at once, and nothing of one that was killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from tests.unit.engine.bundles import LANDS, bundle, there


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", Stats())


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> BuildFolder:
    return BuildFolder(tmp_path / "build", store)


def test_a_new_bundle_comes_as_a_whole(folder, store, monkeypatch):
    """Whoever looks sees all of it or nothing, and after a kill nothing is left of it."""
    tree, seen = bundle(store, m_bin="binary"), []
    copy = Store.copy

    def looks(self, digest, to):
        copy(self, digest, to)
        seen.append((folder.root / LANDS).exists())

    monkeypatch.setattr(Store, "copy", looks)
    assert folder.put(LANDS, tree)
    assert seen == [False, False]
    assert sorted(p.name for p in (folder.root / LANDS).parent.iterdir()) == ["SM8750"]


def test_who_was_quicker_is_mended_and_not_in_the_way(folder, store, monkeypatch):
    """Another store has other locks: two builds of one folder may meet."""
    tree, rename = bundle(store, m_bin="binary"), os.rename

    def late(new, to):
        (folder.root / LANDS).mkdir(parents=True)
        (folder.root / LANDS / "theirs.txt").write_text("theirs")
        rename(new, to)

    monkeypatch.setattr("os.rename", late)
    assert folder.put(LANDS, tree)
    assert sorted(there(folder)) == ["m.bin", "manifest.json", "theirs.txt"]


def test_a_store_on_another_disk_is_copied_from_file_by_file(folder, store, monkeypatch):
    stat = os.stat

    def elsewhere(path, **more):
        found = stat(path, **more)
        if path != store.root:
            return found
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]])

    tree = bundle(store, m_bin="binary")
    monkeypatch.setattr("os.stat", elsewhere)
    monkeypatch.setattr("os.rename", None)
    assert folder.put(LANDS, tree)
    assert there(folder)["m.bin"] == "binary"


def test_a_build_that_was_killed_leaves_nothing_in_the_folder(folder, store, monkeypatch):
    tree = bundle(store, m_bin="binary")
    seen: list[Path] = []

    def killed(*_):
        seen.extend(path for path in folder.root.rglob("*") if path.is_file())
        raise KeyboardInterrupt

    monkeypatch.setattr("os.rename", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.put(LANDS, tree)
    folder.close()

    assert seen == []
    assert list((store.root / "tmp").iterdir()) == []
