from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from qnnbuild.engine.folder import UNFINISHED, BuildFolder
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Gone, Store
from tests.unit.engine.bundles import LANDS, bundle, manifest, there


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", Stats())


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> BuildFolder:
    return BuildFolder(tmp_path / "build", store)


def test_a_bundle_is_put_whole(folder, store):
    tree = bundle(store, m_bin="binary", deep__r_json="{}")

    assert folder.missing(LANDS, tree) == (
        "build/m/10s/SM8750/m.bin is missing",
        "build/m/10s/SM8750/deep/r.json is missing",
        "build/m/10s/SM8750/manifest.json is missing",
    )
    assert folder.put(LANDS, tree)
    assert folder.missing(LANDS, tree) == ()
    assert there(folder) == {
        "m.bin": "binary",
        "deep/r.json": "{}",
        "manifest.json": manifest("m.bin", "deep/r.json"),
    }


def test_what_is_put_can_be_written_and_is_no_link_into_the_store(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    path = folder.root / LANDS / "m.bin"

    assert path.stat().st_mode & 0o200
    assert path.stat().st_nlink == 1


def test_a_bundle_that_is_there_is_not_written_again(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    before = (folder.root / LANDS / "m.bin").stat()

    assert not folder.put(LANDS, tree)
    assert (folder.root / LANDS / "m.bin").stat() == before


def edit(path: Path) -> str:
    path.write_text("another")
    return "was changed"


def edit_and_set_the_time_back(path: Path) -> str:
    was = path.stat()
    path.write_text("BINARY")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns - 10**9))
    return "was changed"


def take_away(path: Path) -> str:
    path.unlink()
    return "is missing"


@pytest.mark.parametrize("harm", [edit, edit_and_set_the_time_back, take_away])
def test_a_file_that_was_changed_or_taken_away_is_mended(folder, store, harm):
    tree = bundle(store, m_bin="binary", n_bin="other")
    folder.put(LANDS, tree)
    other = (folder.root / LANDS / "n.bin").stat().st_ino
    said = harm(folder.root / LANDS / "m.bin")

    assert folder.missing(LANDS, tree) == (f"build/m/10s/SM8750/m.bin {said}",)
    assert folder.put(LANDS, tree)
    assert there(folder)["m.bin"] == "binary"
    assert (folder.root / LANDS / "n.bin").stat().st_ino == other


def test_the_manifest_goes_first_and_comes_last(folder, store, monkeypatch):
    seen = []
    real = os.replace

    def watching(new: Path, path: Path) -> None:
        real(new, path)
        seen.append((Path(path).name, (folder.root / LANDS / "manifest.json").exists()))

    folder.put(LANDS, bundle(store, a_bin="1", z_bin="1"))
    tree = bundle(store, a_bin="2", z_bin="2")
    monkeypatch.setattr(os, "replace", watching)
    folder.put(LANDS, tree)

    assert seen == [
        (UNFINISHED, True),
        ("a.bin", False),
        ("z.bin", False),
        ("manifest.json", True),
    ]


def test_files_of_the_old_bundle_go_and_those_of_others_stay(folder, store):
    folder.put(LANDS, bundle(store, old_bin="1", deep__old_json="2", both_bin="3"))
    (folder.root / LANDS / "mine.txt").write_text("mine")
    folder.put(LANDS, bundle(store, new_bin="4", both_bin="3"))

    assert there(folder) == {
        "both.bin": "3",
        "new.bin": "4",
        "mine.txt": "mine",
        "manifest.json": manifest("new.bin", "both.bin"),
    }
    assert not (folder.root / LANDS / "deep").exists()


class Killed(BaseException):
    pass


@pytest.mark.parametrize("deadly", range(1, 13))
def test_after_a_kill_at_any_change_the_next_put_leaves_its_own_files_only(
    folder, store, monkeypatch, deadly
):
    trees = [bundle(store, **{f"{n}_bin": n, "both_bin": n}) for n in ("one", "two", "three")]
    folder.put(LANDS, trees[0])
    replace, unlink, changes = os.replace, Path.unlink, []

    def live_or_die() -> None:
        changes.append(1)
        if len(changes) >= deadly:  # the dead do not tidy up either
            raise Killed

    def dying_replace(new: Path, path: Path) -> None:
        live_or_die()
        replace(new, path)

    def dying_unlink(path: Path, missing_ok: bool = False) -> None:
        live_or_die()
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying_replace)
        patch.setattr(Path, "unlink", dying_unlink)
        with pytest.raises(Killed):
            folder.put(LANDS, trees[1])
    folder.put(LANDS, trees[2])

    assert there(folder) == {
        "three.bin": "three",
        "both.bin": "three",
        "manifest.json": manifest("three.bin", "both.bin"),
    }


def test_a_put_that_was_killed_at_its_very_end_is_finished(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    (folder.root / LANDS / UNFINISHED).write_text('{"files": ["gone.bin"]}')
    (folder.root / LANDS / "gone.bin").write_text("x")

    assert folder.missing(LANDS, tree) == ("build/m/10s/SM8750 was left half done",)
    assert folder.put(LANDS, tree)
    assert sorted(there(folder)) == ["m.bin", "manifest.json"]


def test_half_written_files_of_a_killed_build_go(folder, store):
    half = folder.root / LANDS / f".m.bin.{'a' * 32}.new"
    mine = folder.root / LANDS / ".mine.new"
    half.parent.mkdir(parents=True)
    half.write_text("bin")
    mine.write_text("mine")
    folder.put(LANDS, bundle(store, m_bin="binary"))

    assert sorted(there(folder)) == [".mine.new", "m.bin", "manifest.json"]


@pytest.mark.parametrize(
    "listed", [["../x"], ["a/../../x"], {"{root}/x": 1}, [["x"], 7, None], "x", 7]
)
def test_a_manifest_that_somebody_wrote_leads_nowhere_outside(folder, store, listed):
    outside = folder.root / "m" / "10s" / "x"
    outside.parent.mkdir(parents=True)
    outside.write_text("mine")
    (folder.root / "x").write_text("mine")
    (folder.root / LANDS).mkdir()
    text = json.dumps({"files": listed}).replace("{root}", str(folder.root))
    (folder.root / LANDS / "manifest.json").write_text(text)
    folder.put(LANDS, bundle(store, m_bin="binary"))

    assert outside.read_text() == "mine"
    assert (folder.root / "x").read_text() == "mine"
    assert sorted(there(folder)) == ["m.bin", "manifest.json"]


@pytest.mark.parametrize("text", ["", "[]", "{", "\udcff"])
def test_a_manifest_that_is_damaged_is_replaced(folder, store, text):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    (folder.root / LANDS / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    folder.put(LANDS, tree)

    assert there(folder)["manifest.json"] == manifest("m.bin")


# --- clean ------------------------------------------------------------------------------------


def test_clean_removes_a_bundle_and_the_empty_folders(folder, store):
    folder.put(LANDS, bundle(store, m_bin="binary", deep__r_json="{}"))
    removed = folder.clean(LANDS)

    assert removed == [
        "build/m/10s/SM8750/deep/r.json",
        "build/m/10s/SM8750/m.bin",
        "build/m/10s/SM8750/manifest.json",
    ]
    assert not folder.root.exists()
    assert folder.root.parent.exists()


def test_clean_leaves_what_is_not_ours(folder, store):
    folder.put(LANDS, bundle(store, m_bin="binary"))
    folder.put("m/10s/SM8650", bundle(store, m_bin="other"))
    (folder.root / LANDS / "mine.txt").write_text("mine")
    folder.clean(LANDS)

    assert there(folder) == {"mine.txt": "mine"}
    assert sorted(there(folder, "m/10s/SM8650")) == ["m.bin", "manifest.json"]


def test_a_dry_run_says_the_same_and_removes_nothing(folder, store):
    folder.put(LANDS, bundle(store, m_bin="binary"))
    said = folder.clean(LANDS, dry_run=True)

    assert sorted(there(folder)) == ["m.bin", "manifest.json"]
    assert folder.clean(LANDS) == said


def test_clean_of_nothing_removes_nothing(folder):
    assert folder.clean(LANDS) == []


# --- index ------------------------------------------------------------------------------------


def index(folder: BuildFolder) -> list[str]:
    """The folders that index.json tells of."""
    chips = json.loads((folder.root / "index.json").read_text())["chips"]
    return [
        bundle["path"]
        for models in chips.values()
        for variants in models.values()
        for bundle in variants.values()
    ]


def test_the_index_tells_of_the_bundles_that_are_there(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    folder.finish({LANDS: tree})

    assert index(folder) == [LANDS]


@pytest.mark.parametrize("end", ["index.json", "report.html"])
def test_what_a_killed_build_left_beside_index_or_report_goes(folder, store, end):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    folder.finish({LANDS: tree})
    left = folder.root / f".{end}.{'0' * 32}.new"
    others = folder.root / ".somebody.new"
    left.write_text("{")
    others.write_text("theirs")
    folder.finish({LANDS: tree})

    assert (left.exists(), others.exists()) == (False, True)


def test_the_index_is_written_only_when_it_changed(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    folder.finish({LANDS: tree})
    before = (folder.root / "index.json").stat()
    folder.finish({LANDS: tree})
    same = (folder.root / "index.json").stat()
    (folder.root / "index.json").write_bytes(b"\xff")
    folder.finish({LANDS: tree})

    assert same == before
    assert index(folder) == [LANDS]


def test_without_bundles_no_folder_is_made(folder):
    folder.finish({})

    assert not folder.root.exists()


def test_a_bundle_that_is_not_wanted_any_more_leaves_the_index(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    folder.finish({LANDS: tree})
    folder.finish({})

    assert index(folder) == []


def test_models_that_were_not_looked_at_stay_in_the_index(folder, store):
    mine = bundle(store, m_bin="binary")
    other = bundle(store, n_bin="x", manifest_json=manifest("n.bin", model="n"))
    folder.put(LANDS, mine)
    folder.put("n/10s/SM8750", other)
    folder.finish({LANDS: mine}, keep=frozenset({"n"}))

    assert index(folder) == [LANDS, "n/10s/SM8750"]


def test_after_a_clean_the_index_tells_of_what_is_left(folder, store):
    trees = {
        LANDS: bundle(store, m_bin="binary"),
        "m/10s/SM8650": bundle(store, m_bin="x", manifest_json=manifest("m.bin", chip="SM8650")),
    }
    for lands, tree in trees.items():
        folder.put(lands, tree)
    folder.finish(trees)
    (folder.root / "web").mkdir()
    (folder.root / "web" / "manifest.json").write_text('{"files": {}}')
    folder.clean(LANDS)
    folder.reindex()

    assert index(folder) == ["m/10s/SM8650"]


def test_after_the_last_clean_nothing_is_left(folder, store):
    tree = bundle(store, m_bin="binary")
    folder.put(LANDS, tree)
    folder.finish({LANDS: tree})
    folder.clean(LANDS)
    folder.reindex()

    assert not folder.root.exists()


def test_an_artifact_that_is_gone_leaves_the_old_bundle_whole(folder, store):
    old = bundle(store, m_bin="one", only_json="{}")
    folder.put(LANDS, old)
    before = there(folder)
    new = bundle(store, a_bin="new", m_bin="two")
    store.path(new.files["m.bin"][0]).unlink()
    with pytest.raises(Gone):
        folder.put(LANDS, new)

    assert there(folder) == before
    assert folder.missing(LANDS, old) == ()


def test_a_new_bundle_without_an_artifact_leaves_nothing(folder, store):
    tree = bundle(store, a_bin="one", m_bin="two")
    store.path(tree.files["m.bin"][0]).unlink()
    with pytest.raises(Gone):
        folder.put(LANDS, tree)

    assert not (folder.root / LANDS).exists()
