"""What a file is when it is not an ONNX file."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.first_bytes import look
from qnnbuild.work.run import WorkError
from tests.models import scale_bytes

WRONG = {
    "'m.onnx' is an empty file": b"",
    "'m.onnx' is a web page, not an ONNX file": b"\n<!DOCTYPE html><html><body>Sign in</body>",
    "'m.onnx' is a zip archive, not an ONNX file": b"PK\x03\x04" + bytes(60),
    "'m.onnx' is a PyTorch checkpoint, not an ONNX file": b"PK\x03\x04" + bytes(26) + b"m/data.pkl",
    "'m.onnx' is a gzip file, not an ONNX file": b"\x1f\x8b\x08" + bytes(60),
    "'m.onnx' is a tar archive, not an ONNX file": b"model".ljust(257, b"\0") + b"ustar\x0000",
    "'m.onnx' is a TensorFlow Lite model, not an ONNX file": b"\x1c\0\0\0TFL3" + bytes(60),
    "'m.onnx' is a model in ORT's own format, not an ONNX file": b"\x1c\0\0\0ORTM" + bytes(60),
    "'m.onnx' is a Python pickle (a PyTorch checkpoint?), not an ONNX file": b"\x80\x02}q\x00.",
    "'m.onnx' is a text file, not an ONNX file": b'{"error":\n "not found"}\n',
    "'m.onnx' holds only the text '../store/m.onnx', not a model": b"../store/m.onnx",
}


@pytest.mark.parametrize("message", WRONG)
def test_a_file_of_another_kind_is_told_by_its_kind(message: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(WRONG[message])

    with pytest.raises(WorkError) as caught:
        look(tmp_path / "m.onnx")

    assert caught.value.message == message


def test_a_folder_is_told_with_the_models_in_it(tmp_path: Path) -> None:
    (tmp_path / "m.onnx" / "v1").mkdir(parents=True)
    (tmp_path / "m.onnx" / "v1" / "a.onnx").write_bytes(b"x")

    with pytest.raises(WorkError) as caught:
        look(tmp_path / "m.onnx")

    assert caught.value.message == "'m.onnx' is a folder, an ONNX file is wanted"
    assert caught.value.facts == (("ONNX files in it", "v1/a.onnx"),)


def test_a_pointer_of_git_lfs_says_how_to_get_the_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n", encoding="utf-8"
    )

    with pytest.raises(WorkError) as caught:
        look(tmp_path / "m.onnx", shown="models/m.onnx")

    assert caught.value.message == "'models/m.onnx' is a Git LFS pointer, not the model"
    assert caught.value.hint == "run git lfs pull"


def test_a_file_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        look(tmp_path / "m.onnx")

    assert caught.value.message == "'m.onnx' is not there"


def test_an_onnx_file_is_let_through(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(scale_bytes())

    look(tmp_path / "m.onnx")

    assert (tmp_path / "m.onnx").read_bytes() == scale_bytes()


def test_a_pointer_of_git_lfs_with_letters_of_no_alphabet_is_told(tmp_path: Path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid \xff\xfe\nsize 7\n")
    with pytest.raises(WorkError) as caught:
        look(path)

    assert caught.value.message == "'m.onnx' is a Git LFS pointer, not the model"


@pytest.mark.parametrize("data", [b"<html>secret", b"secret", b"secret\nmore\n"])
def test_what_was_fetched_is_not_quoted(tmp_path: Path, data: bytes):
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(WorkError) as caught:
        look(path, quoted=False)

    assert "secret" not in f"{caught.value.message} {caught.value.facts}"
