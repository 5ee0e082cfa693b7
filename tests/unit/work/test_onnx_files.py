"""Whole models and whole side files."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import ModelProto

from qnnbuild.work.onnx_files import check_location, read_whole, side_files
from qnnbuild.work.run import WorkError
from tests.models import scale_bytes, write_with_side_file


def refused(folder: Path) -> str:
    with pytest.raises(WorkError) as caught:
        read_whole(folder, "m.onnx")
    return caught.value.message


def test_every_cut_of_a_model_is_found(tmp_path: Path) -> None:
    whole = scale_bytes()
    for length in range(1, len(whole) - 1, 7):
        (tmp_path / "m.onnx").write_bytes(whole[:length])

        assert refused(tmp_path) == "'m.onnx' is not a whole ONNX file"


def test_a_side_file_that_is_one_byte_short_is_refused(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    data = (tmp_path / "m.data").read_bytes()
    (tmp_path / "m.data").write_bytes(data[:-1])

    assert refused(tmp_path) == "side file 'm.data' is cut short: 255 of 256 bytes"


def test_a_side_file_that_says_fewer_bytes_than_its_shape_needs_is_refused(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    model = onnx.load(str(tmp_path / "m.onnx"), load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "length":
            entry.value = "8"
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "m.data").write_bytes(bytes(8))

    assert refused(tmp_path) == "side file 'm.data' is cut short: 8 of 256 bytes"


def test_a_link_that_was_stored_as_text_is_told_as_such(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    (tmp_path / "m.data").write_text("../store/m.data", encoding="utf-8")

    with pytest.raises(WorkError) as caught:
        read_whole(tmp_path, "m.onnx")

    assert caught.value.hint == (
        "it holds only the text '../store/m.data', as a link does where links cannot be made"
    )


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_with_side_file(tmp_path / "in")
    (tmp_path / "in" / "m.data").rename(tmp_path / "m.data")
    (tmp_path / "in" / "m.data").symlink_to("../m.data")

    assert refused(tmp_path / "in") == "side file 'm.data' is a link out of the model's folder"


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    (tmp_path / "m.data").unlink()
    (tmp_path / "m.data").symlink_to("m.data")

    assert refused(tmp_path) == "side file 'm.data' is a link that leads to itself"


def test_a_folder_in_place_of_a_side_file_is_refused(tmp_path: Path) -> None:
    write_with_side_file(tmp_path)
    (tmp_path / "m.data").unlink()
    (tmp_path / "m.data").mkdir()

    assert refused(tmp_path) == "side file 'm.data' is not a file"


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "tensor 'w' names no side file"),
        ("/a/m.data", "the model names its side file by an absolute path: '/a/m.data'"),
        ("C:/a/m.data", "the model names its side file by an absolute path: 'C:/a/m.data'"),
        ("a\\m.data", "the side file's name has a backslash: 'a\\m.data'"),
        (
            "a/../../m.data",
            "the side file's name leaves the model's folder with '..': 'a/../../m.data'",
        ),
    ],
)
def test_a_side_file_must_stay_in_the_folder(location: str, message: str) -> None:
    with pytest.raises(WorkError) as caught:
        check_location(location, tensor="w")

    assert caught.value.message == message


def test_side_files_are_listed_once_each(tmp_path: Path) -> None:
    write_with_side_file(tmp_path, side="parts/m.data")

    assert side_files(read_whole(tmp_path, "m.onnx")) == ["parts/m.data"]


def test_a_file_without_a_graph_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(ModelProto(ir_version=9).SerializeToString())

    assert refused(tmp_path) == "'m.onnx' is not a whole ONNX file"


@pytest.mark.parametrize("field", ["name", "op_type", "input"])
def test_a_name_that_is_no_text_is_told(tmp_path: Path, field: str) -> None:
    model = ModelProto()
    model.ParseFromString(scale_bytes())
    node = model.graph.node[0]
    if field == "input":
        node.input[0] = "QQQQ"
    else:
        setattr(node, field, "QQQQ")
    data = model.SerializeToString().replace(b"QQQQ", b"\xff\xfe\xff\xff")
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(WorkError) as caught:
        read_whole(tmp_path)

    assert caught.value.message == "'model.onnx' has a name that is no text in UTF-8"
    assert dict(caught.value.facts)["name"] == "b'\\xff\\xfe\\xff\\xff'"


@pytest.mark.parametrize(("kind", "sizes"), [(0, [1]), (99, [1]), (1, [-1]), (1, [1, -(1 << 62)])])
def test_a_side_tensor_of_no_type_or_size_is_told(
    tmp_path: Path, kind: int, sizes: list[int]
) -> None:
    write_with_side_file(tmp_path, "model.onnx", "m.data")
    model = onnx.load(tmp_path / "model.onnx", load_external_data=False)
    tensor = model.graph.initializer[0]
    tensor.data_type = kind
    del tensor.dims[:]
    tensor.dims.extend(sizes)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(WorkError) as caught:
        read_whole(tmp_path)

    assert caught.value.message.endswith("is of a type or size that ONNX does not know")
