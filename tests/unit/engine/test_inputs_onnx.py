"""ONNX files of the repo and their side files as inputs."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from qnnbuild.digest import digest_file
from qnnbuild.engine.inputs import FEW, side_files
from tests.models import scale_bytes, scale_model, write_with_side_file
from tests.unit.engine.sources import onnx_at, refused, staged, tree


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

    def edited(path: Path) -> tuple[str, ...]:
        path.write_bytes(scale_bytes())
        return side_files(path)

    monkeypatch.setattr("qnnbuild.engine.inputs.side_files", edited)
    tree(inputs, onnx_at("m.onnx"))

    assert inputs.records.side_files(before) is None


@pytest.mark.parametrize("few", [0, FEW])
def test_side_files_of_inner_graphs_are_found(tmp_path, monkeypatch, few):
    monkeypatch.setattr("qnnbuild.engine.inputs.FEW", few)
    inner = onnx.ModelProto.FromString(naming("inner.data")).graph
    listed = onnx.ModelProto.FromString(naming("list.data")).graph
    model = scale_model()
    node = model.graph.node.add(op_type="If")
    node.attribute.append(onnx.helper.make_attribute("then_branch", inner))
    node.attribute.append(onnx.helper.make_attribute("branches", [listed]))
    constant = model.graph.node.add(op_type="Constant")
    tensor = onnx.ModelProto.FromString(naming("constant.data")).graph.initializer[0]
    constant.attribute.append(onnx.helper.make_attribute("value", tensor))
    pair = [onnx.ModelProto.FromString(naming(f"{n}.data")).graph for n in ("one", "two")]
    several = [graph.initializer[0] for graph in pair]
    model.graph.node.add(op_type="Own").attribute.append(
        onnx.helper.make_attribute("values", several)
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())

    assert sorted(side_files(path)) == [
        "constant.data",
        "inner.data",
        "list.data",
        "one.data",
        "two.data",
    ]
