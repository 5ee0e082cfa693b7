from __future__ import annotations

import os
import time
from pathlib import Path

import onnx
import pytest

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles, SourceOnnx
from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_bytes, digest_file
from qnnbuild.engine.inputs import Changed, Inputs, is_inside, side_files, stage_artifacts
from qnnbuild.engine.records import Records
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.errors import RecipeError, Span
from tests.models import scale_bytes, scale_model, write_with_side_file

AT = Span(file="recipes/m.yaml", line=4, column=9)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


@pytest.fixture
def inputs(repo: Path, tmp_path: Path):
    records = Records(tmp_path / "records.db", "here")
    yield Inputs(repo, Stats(), records)
    records.close()


def takes(source: Input) -> Action:
    return Action(
        name="fetch/m",
        step="fetch",
        call="x:y",
        inputs={"source": source},
        outputs=("model",),
        places={"source": AT},
    )


def onnx_at(path: str) -> Action:
    return takes(SourceOnnx(path=path))


def files(*patterns: str) -> Action:
    return takes(SourceFiles(patterns=patterns))


def tree(inputs: Inputs, action: Action) -> Tree:
    return inputs.tree(action, "source")


def staged(inputs: Inputs, action: Action, to: Path) -> dict[str, bytes]:
    to.mkdir()
    inputs.stage(action, "source", tree(inputs, action), to)
    return {p.relative_to(to).as_posix(): p.read_bytes() for p in to.rglob("*") if p.is_file()}


def refused(inputs: Inputs, action: Action) -> tuple[str, str | None]:
    with pytest.raises(RecipeError) as caught:
        tree(inputs, action)
    (problem,) = caught.value.problems
    assert problem.at == AT
    return problem.message, problem.hint


def naming(*locations: str) -> bytes:
    """An ONNX file with one weight in each of these side files."""
    model = scale_model(size=4)
    (weight,) = model.graph.initializer
    del model.graph.initializer[:]
    for number, location in enumerate(locations):
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(weight)
        tensor.name = f"w{number}"
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
    return bytes(model.SerializeToString())


# --- one ONNX file ----------------------------------------------------------------------------


def test_an_onnx_file_is_staged_under_one_name(inputs, repo, tmp_path):
    (repo / "m.onnx").write_bytes(scale_bytes())

    assert staged(inputs, onnx_at("m.onnx"), tmp_path / "in") == {"model.onnx": scale_bytes()}


def test_its_side_files_come_along_under_their_own_names(inputs, repo, tmp_path):
    data = write_with_side_file(repo / "onnx", "m.onnx", "deep/weights.data")
    weights = (repo / "onnx" / "deep" / "weights.data").read_bytes()

    assert staged(inputs, onnx_at("onnx/m.onnx"), tmp_path / "in") == {
        "model.onnx": data,
        "deep/weights.data": weights,
    }


def test_the_name_and_the_folder_of_the_file_are_not_in_the_digest(inputs, repo):
    for name in ("one/a.onnx", "two/b.onnx"):
        write_with_side_file((repo / name).parent, Path(name).name)

    assert tree(inputs, onnx_at("one/a.onnx")).digest == tree(inputs, onnx_at("two/b.onnx")).digest


def test_the_name_and_the_content_of_a_side_file_are_in_the_digest(inputs, repo):
    write_with_side_file(repo / "a", side="m.data")
    write_with_side_file(repo / "b", side="n.data")
    write_with_side_file(repo / "c", side="m.data")
    with (repo / "c" / "m.data").open("r+b") as file:
        file.write(b"\1")

    assert len({tree(inputs, onnx_at(f"{n}/m.onnx")).digest for n in "abc"}) == 3


def test_what_lies_beside_and_is_not_named_is_not_taken(inputs, repo):
    write_with_side_file(repo)
    before = tree(inputs, onnx_at("m.onnx"))
    (repo / "other.data").write_bytes(b"x")

    assert tree(inputs, onnx_at("m.onnx")) == before
    assert sorted(before.files) == ["m.data", "model.onnx"]


def test_a_side_file_that_is_missing_is_left_for_the_action_to_tell(inputs, repo):
    write_with_side_file(repo)
    (repo / "m.data").unlink()

    assert list(tree(inputs, onnx_at("m.onnx")).files) == ["model.onnx"]


@pytest.mark.parametrize("location", ["../secret", "deep/../../secret", "{absolute}", "a\\b"])
def test_a_side_file_out_of_the_folder_is_not_followed(inputs, repo, tmp_path, location):
    for secret in (tmp_path / "secret", repo / "secret", repo / "a\\b"):
        secret.write_bytes(b"secret")
    (repo / "deep").mkdir()
    (repo / "onnx").mkdir()
    location = location.format(absolute=tmp_path / "secret")
    (repo / "m.onnx").write_bytes(naming(location))

    assert list(tree(inputs, onnx_at("m.onnx")).files) == ["model.onnx"]


def test_a_side_file_that_is_a_link_is_copied_as_a_file(inputs, repo, tmp_path):
    data = write_with_side_file(repo)
    elsewhere = tmp_path / "big.data"
    (repo / "m.data").rename(elsewhere)
    (repo / "m.data").symlink_to(elsewhere)
    found = staged(inputs, onnx_at("m.onnx"), tmp_path / "in")

    assert found == {"model.onnx": data, "m.data": elsewhere.read_bytes()}
    assert not (tmp_path / "in" / "m.data").is_symlink()
    assert (tmp_path / "in" / "m.data").stat().st_nlink == 1


def test_a_model_that_is_a_link_is_copied_as_a_file(inputs, repo, tmp_path):
    (tmp_path / "real.onnx").write_bytes(scale_bytes())
    (repo / "m.onnx").symlink_to(tmp_path / "real.onnx")

    assert staged(inputs, onnx_at("m.onnx"), tmp_path / "in") == {"model.onnx": scale_bytes()}
    assert not (tmp_path / "in" / "model.onnx").is_symlink()


def test_weights_with_the_models_own_name_are_refused(inputs, repo):
    (repo / "m.onnx").write_bytes(naming("./model.onnx"))
    (repo / "model.onnx").write_bytes(b"weights")

    assert refused(inputs, onnx_at("m.onnx")) == (
        "m.onnx has its weights in a file that is called model.onnx",
        "that is the model's own name while it is built: rename the weights",
    )


def test_a_file_that_is_no_onnx_is_staged_as_it_is(inputs, repo, tmp_path):
    (repo / "m.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")

    assert list(staged(inputs, onnx_at("m.onnx"), tmp_path / "in")) == ["model.onnx"]


def test_side_files_are_read_once_for_each_content(inputs, repo, monkeypatch):
    write_with_side_file(repo)
    tree(inputs, onnx_at("m.onnx"))
    monkeypatch.setattr("qnnbuild.engine.inputs.side_files", None)

    assert sorted(tree(inputs, onnx_at("m.onnx")).files) == ["m.data", "model.onnx"]


def test_side_files_of_a_file_that_was_edited_meanwhile_are_not_kept(inputs, repo, monkeypatch):
    write_with_side_file(repo)
    before = digest_file(repo / "m.onnx")

    def edited(path: Path) -> tuple[tuple[str, ...], str]:
        path.write_bytes(scale_bytes())
        return side_files(path)

    monkeypatch.setattr("qnnbuild.engine.inputs.side_files", edited)
    tree(inputs, onnx_at("m.onnx"))

    assert inputs.records.side_files(before) is None


def test_side_files_of_inner_graphs_are_found(tmp_path):
    inner = onnx.ModelProto.FromString(naming("inner.data")).graph
    listed = onnx.ModelProto.FromString(naming("list.data")).graph
    model = scale_model()
    node = model.graph.node.add(op_type="If")
    node.attribute.append(onnx.helper.make_attribute("then_branch", inner))
    node.attribute.append(onnx.helper.make_attribute("branches", [listed]))
    constant = model.graph.node.add(op_type="Constant")
    tensor = onnx.ModelProto.FromString(naming("constant.data")).graph.initializer[0]
    constant.attribute.append(onnx.helper.make_attribute("value", tensor))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    names, digest = side_files(path)

    assert names == ("inner.data", "list.data", "constant.data")
    assert digest == digest_file(path)


# --- files by patterns ------------------------------------------------------------------------


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


# --- what is missing --------------------------------------------------------------------------


def test_a_file_that_is_missing_is_told_with_the_nearest_name(inputs, repo):
    (repo / "onnx").mkdir()
    (repo / "onnx" / "encoder.onnx").write_bytes(b"x")

    assert refused(inputs, onnx_at("onnx/encodr.onnx")) == (
        "no such file: onnx/encodr.onnx",
        "did you mean 'encoder.onnx'? paths are relative to the repo's root",
    )
    assert refused(inputs, files("onnx/*.npz")) == (
        "no such file: onnx/*.npz",
        "paths are relative to the repo's root",
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


# --- edited meanwhile -------------------------------------------------------------------------


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


# --- artifacts --------------------------------------------------------------------------------


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
