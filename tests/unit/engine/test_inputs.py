from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from qnnbuild.actions.action import (
    Action,
    OutputOf,
    SampleFiles,
    SourceFiles,
)
from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_bytes
from qnnbuild.engine.inputs import Changed, Inputs, is_inside, stage_artifacts
from qnnbuild.engine.records import Records
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.trust import Trust
from qnnbuild.errors import NotTrusted, RecipeError
from tests.models import scale_bytes
from tests.unit.engine.sources import AT, files, onnx_at, refused, staged, takes, tree

# --- files by patterns -----------------------------------------------------------------------


@pytest.fixture
def samples(repo: Path) -> Path:
    for name in ("s/2.npz", "s/10.npz", "s/1.npz", "s/deep/3.npz", "s/.1.npz.swp", "t/x.txt"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(name)
    return repo


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (("s/*.npz",), ["s/1.npz", "s/10.npz", "s/2.npz"]),
        (("s/*",), ["s/1.npz", "s/10.npz", "s/2.npz"]),
        (("s/**",), ["s/1.npz", "s/10.npz", "s/2.npz", "s/deep/3.npz"]),
        (("s/**/*.npz",), ["s/1.npz", "s/10.npz", "s/2.npz", "s/deep/3.npz"]),
        (("s/[12].npz",), ["s/1.npz", "s/2.npz"]),
        (("s/.*",), ["s/.1.npz.swp"]),
        (("t/x.txt", "s/2.npz", "s/?.npz"), ["t/x.txt", "s/2.npz", "s/1.npz"]),
    ],
)
def test_patterns_match_sorted_and_each_file_once(inputs, samples, patterns, found):
    assert list(tree(inputs, files(*patterns)).files) == found


def test_files_keep_their_paths(inputs, samples, tmp_path):
    assert staged(inputs, files("t/x.txt", "s/deep/*"), tmp_path / "in") == {
        "t/x.txt": b"t/x.txt",
        "s/deep/3.npz": b"s/deep/3.npz",
    }


def test_a_pattern_that_leaves_the_repo_is_refused(inputs, samples, tmp_path):
    (tmp_path / "secret").write_text("x")

    assert refused(inputs, files("../secret")) == ("../secret is not in this repo", None)
    assert refused(inputs, files("../*")) == ("../* is not in this repo", None)
    assert refused(inputs, files(f"{tmp_path}/*")) == (f"{tmp_path}/* is not in this repo", None)


# --- samples ---------------------------------------------------------------------------------


def sample_files(*patterns: str) -> Action:
    return takes(SampleFiles(patterns=patterns))


def test_a_folder_of_samples_is_all_files_in_it(inputs, samples):
    assert list(tree(inputs, sample_files("s")).files) == [
        *("s/1.npz", "s/10.npz", "s/2.npz", "s/deep/3.npz")
    ]


def test_an_input_list_brings_the_files_that_it_names(inputs, samples):
    (samples / "s" / "list.txt").write_text(
        "# comment\nx:=1.npz y:=../t/x.txt\nx:=gone.raw y:=2.npz"
    )

    assert list(tree(inputs, sample_files("s/list.txt")).files) == [
        *("s/list.txt", "s/1.npz", "t/x.txt", "s/2.npz")
    ]


def test_what_is_no_list_brings_nothing(inputs, samples):
    (samples / "s" / "list.txt").write_text("x:=../../secret y:=1.npz")

    assert list(tree(inputs, sample_files("s/list.txt")).files) == ["s/list.txt"]


@pytest.mark.parametrize(
    ("action", "folders"),
    [
        (files("t/x.txt"), []),
        (files("s/*.npz"), ["s"]),
        (files("s/**"), ["s", "s/deep"]),
        (files("*/*.npz"), [".", "s", "t"]),
        (sample_files("s"), ["s", "s/deep"]),
        (sample_files("t/x.txt"), []),
    ],
)
def test_folders_where_a_new_file_would_count_are_watched(inputs, samples, action, folders):
    watched = inputs.watched(action, "source")
    found = {path.relative_to(samples).as_posix() for path in watched if path.is_dir()}

    assert found == set(folders)
    assert set(inputs.files(action, "source").values()) <= set(watched)


# --- what is missing -------------------------------------------------------------------------


def test_a_file_that_is_missing_is_told_with_the_nearest_name(inputs, repo):
    (repo / "onnx").mkdir()
    (repo / "onnx" / "encoder.onnx").write_bytes(b"x")

    assert refused(inputs, onnx_at("onnx/encodr.onnx")) == (
        "no such file: onnx/encodr.onnx",
        "did you mean 'encoder.onnx'? a recipe's paths begin at its own folder",
    )
    assert refused(inputs, files("onnx/*.npz")) == (
        "no such file: onnx/*.npz",
        "a recipe's paths begin at its own folder",
    )


def test_a_folder_in_a_files_place_is_told(inputs, repo):
    (repo / "m.onnx").mkdir()

    assert refused(inputs, onnx_at("m.onnx")) == ("m.onnx is a folder, a file is wanted", None)
    assert refused(inputs, files("m.onnx")) == ("m.onnx is a folder, a file is wanted", None)


def test_a_link_to_nothing_is_told_as_that(inputs, repo):
    (repo / "m.onnx").symlink_to("../gone.onnx")

    assert refused(inputs, onnx_at("m.onnx")) == (
        "m.onnx is a link to what is not there: ../gone.onnx",
        None,
    )


def test_a_file_that_may_not_be_read_is_told(inputs, repo, monkeypatch):
    (repo / "m.onnx").write_bytes(scale_bytes())

    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("qnnbuild.engine.stats.digest_file", refuse)

    assert refused(inputs, onnx_at("m.onnx")) == ("m.onnx may not be read", None)


@pytest.mark.parametrize("place", ["source", "graph", "license"])
def test_the_place_is_the_inputs_own_or_else_the_source_or_the_graph(inputs, place):
    action = Action(
        name="bundle/m",
        step="bundle",
        call="x:y",
        inputs={"license": SourceFiles(patterns=("LICENSE",))},
        outputs=("o",),
        places={place: AT},
    )
    with pytest.raises(RecipeError) as caught:
        inputs.tree(action, "license")

    assert caught.value.problems[0].at == AT


def test_what_another_action_makes_is_no_source(inputs):
    with pytest.raises(TypeError, match="source of fetch/m is made, not a source"):
        tree(inputs, takes(OutputOf(action="a", output="o")))


# --- edited meanwhile ------------------------------------------------------------------------


def test_a_file_that_was_edited_before_it_was_copied_is_a_change(inputs, repo, tmp_path):
    action = onnx_at("m.onnx")
    (repo / "m.onnx").write_bytes(scale_bytes(2.0))
    before = tree(inputs, action)
    was = (repo / "m.onnx").stat()
    (repo / "m.onnx").write_bytes(scale_bytes(3.0))
    os.utime(repo / "m.onnx", ns=(was.st_atime_ns, was.st_mtime_ns))
    with pytest.raises(Changed):
        inputs.stage(action, "source", before, tmp_path)

    assert tree(inputs, action) != before


def test_a_file_that_came_or_went_before_it_was_copied_is_a_change(inputs, samples, tmp_path):
    action = files("s/*.npz")
    before = tree(inputs, action)
    (samples / "s" / "1.npz").unlink()
    with pytest.raises(Changed):
        inputs.stage(action, "source", before, tmp_path / "a")
    (samples / "s" / "1.npz").write_text("s/1.npz")
    (samples / "s" / "new.npz").write_text("x")
    with pytest.raises(Changed):
        inputs.stage(action, "source", before, tmp_path / "b")

    assert len(tree(inputs, action).files) == 4


def test_a_file_that_goes_while_it_is_copied_is_a_change(inputs, samples, tmp_path, monkeypatch):
    action = files("t/x.txt")
    before = tree(inputs, action)
    found = inputs.files(action, "source")
    monkeypatch.setattr(inputs, "files", lambda *_: found)
    (samples / "t" / "x.txt").unlink()

    with pytest.raises(Changed):
        inputs.stage(action, "source", before, tmp_path / "in")


def test_a_touch_is_no_change(inputs, samples, tmp_path):
    action = files("t/x.txt")
    before = tree(inputs, action)
    os.utime(samples / "t" / "x.txt", ns=(time.time_ns() + 10**9,) * 2)
    inputs.stage(action, "source", before, tmp_path / "in")

    assert tree(inputs, action) == before


# --- artifacts -------------------------------------------------------------------------------


def test_artifacts_are_staged_under_their_own_paths(tmp_path):
    store = Store(tmp_path / "store", Stats())
    made = {}
    with store.private() as folder:
        for name in ("a.bin", "deep/b.bin"):
            (folder / "file").write_text(name)
            made[name] = store.add(folder / "file")
    (tmp_path / "in").mkdir()
    stage_artifacts(store, Tree(files=made), tmp_path / "in")

    assert made["a.bin"] == (digest_bytes(b"a.bin"), 5)
    assert (tmp_path / "in" / "a.bin").read_text() == "a.bin"
    assert (tmp_path / "in" / "deep" / "b.bin").read_text() == "deep/b.bin"


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("a", True),
        ("./a", True),
        ("a/b", True),
        ("a..b", True),
        ("", False),
        ("/a", False),
        ("..", False),
        ("a/../b", False),
        ("a\\b", False),
    ],
)
def test_a_path_is_inside_or_not(name, inside):
    assert is_inside(name) == inside


@pytest.mark.parametrize("path", [f"{'a' * 300}.onnx", "loop.onnx", "loop.onnx/a.onnx"])
def test_a_name_that_can_be_no_file_is_told_like_one_that_is_not_there(inputs, repo, path):
    (repo / "loop.onnx").symlink_to("loop.onnx")
    for action in (onnx_at(path), files(path)):
        message, _ = refused(inputs, action)

        assert path in message


def test_a_name_that_is_no_text_is_told(inputs, repo):
    Path(os.fsdecode(os.fsencode(repo) + b"/a\xff.txt")).write_bytes(b"1")

    assert refused(inputs, files("*.txt")) == (
        "the name of a file is not UTF-8: a\\xff.txt",
        "rename it, or write a pattern that leaves it out",
    )


def test_a_link_out_of_a_repo_of_strangers_is_no_input(repo, tmp_path):
    (tmp_path / "secret").write_text("1234")
    (repo / "notes.txt").symlink_to("../secret")
    records = Records(tmp_path / "strange.db", "here")
    stranger = Inputs(repo, Stats(), records, Trust(given=False, why="a test"))
    one = files("notes.txt")
    with pytest.raises(NotTrusted) as caught:
        stranger.files(one, "source")
    records.close()

    (problem,) = caught.value.problems
    assert problem.message == "notes.txt lies outside of this repo, which is not trusted"
