from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.work.fetch import fetch_file, fetch_url
from qnnbuild.work.run import Run, WorkError
from tests.models import scale_bytes, write_with_side_file


@pytest.fixture(autouse=True)
def _private_folder(tmp_path, monkeypatch):
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.chdir(folder)


def run_for(*outputs: str, **params: object) -> Run:
    folders = {name: Path("out") / name for name in outputs}
    for folder in folders.values():
        folder.mkdir(parents=True)
    return Run(params=params, inputs={"source": Path("in/source")}, outputs=folders)


def made() -> list[str]:
    return sorted(p.relative_to("out").as_posix() for p in Path("out").rglob("*") if p.is_file())


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def test_a_file_of_the_repo_comes_with_its_side_files_and_nothing_else():
    write_with_side_file(Path("in/source"), "model.onnx", "weights/m.data")
    Path("in/source/stray.txt").write_text("stray")

    fetch_file(run_for("model"))

    assert made() == ["model/model.onnx", "model/weights/m.data"]


def test_what_was_made_elsewhere_is_brought_as_it_is_under_a_name_of_its_own():
    Path("in/source/bin").mkdir(parents=True)
    Path("in/source/bin/sense.bin").write_bytes(b"whatever it is")

    fetch_file(run_for("model", file="model.bin"))

    assert made() == ["model/model.bin"]


def test_a_pattern_for_several_files_is_refused_where_one_is_wanted():
    Path("in/source").mkdir(parents=True)
    for name in ("a.bin", "b.bin"):
        Path("in/source", name).write_bytes(b"x")

    with pytest.raises(WorkError) as caught:
        fetch_file(run_for("model", file="model.bin"))

    assert caught.value.message == "one file is wanted, the pattern matches 2"


def test_a_file_of_an_archive_that_is_no_onnx_file_is_brought_too(tmp_path):
    archive = zipped(tmp_path / "a.zip", {"bin/sense.bin": b"whatever it is"})

    fetch_url(
        run_for(
            "model",
            url=archive.as_uri(),
            member="bin/sense.bin",
            sha256=digest_bytes(b"whatever it is"),
            file="model.bin",
        )
    )

    assert made() == ["model/model.bin"]


def test_a_cut_side_file_is_told_before_anything_reads_it():
    write_with_side_file(Path("in/source"), "model.onnx")
    Path("in/source/m.data").write_bytes(bytes(100))

    with pytest.raises(WorkError) as caught:
        fetch_file(run_for("model"))

    assert caught.value.message == "side file 'm.data' is cut short: 100 of 256 bytes"


def test_a_file_url_is_copied(tmp_path):
    (tmp_path / "m x.onnx").write_bytes(scale_bytes())
    url = (tmp_path / "m x.onnx").as_uri()

    fetch_url(run_for("model", url=url, member=None, sha256=digest_bytes(scale_bytes())))

    assert Path("out/model/model.onnx").read_bytes() == scale_bytes()


def test_another_file_than_the_pinned_one_is_refused_with_both_digests(tmp_path):
    (tmp_path / "m.onnx").write_bytes(scale_bytes(3.0))
    url = (tmp_path / "m.onnx").as_uri()
    pinned, got = digest_bytes(scale_bytes()), digest_bytes(scale_bytes(3.0))

    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url=url, member=None, sha256=pinned))

    assert caught.value.message.endswith("m.onnx is not the file that the recipe pins")
    assert caught.value.place == "source.sha256"
    assert caught.value.facts[:2] == (("pinned", pinned), ("got", got))
    assert caught.value.hint == f"if the new file is meant, write sha256: {got}"


def test_a_file_that_is_not_there_is_told(tmp_path):
    url = (tmp_path / "gone.onnx").as_uri()

    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url=url, member=None, sha256="0" * 64))

    assert caught.value.message == f"there is no file {tmp_path / 'gone.onnx'}"


def test_one_url_cannot_bring_side_files(tmp_path):
    data = write_with_side_file(tmp_path / "m")
    url = (tmp_path / "m" / "m.onnx").as_uri()

    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url=url, member=None, sha256=digest_bytes(data)))

    assert caught.value.message.endswith(
        "keeps its weights in side files, which one URL cannot bring"
    )
    assert caught.value.facts == (("side file", "m.data"),)


def test_a_member_of_an_archive_and_its_licence_are_taken(tmp_path):
    files = {"m/m.onnx": scale_bytes(), "m/LICENSE": b"\xef\xbb\xbfMIT\r\nyes\r\n"}
    url = zipped(tmp_path / "a.zip", files).as_uri()
    sha256 = digest_bytes(scale_bytes())

    fetch_url(
        run_for(
            "model",
            "license",
            url=url,
            member="m/m.onnx",
            sha256=sha256,
            license_member="m/LICENSE",
        )
    )

    assert made() == ["license/LICENSE.txt", "model/model.onnx"]
    assert Path("out/license/LICENSE.txt").read_bytes() == b"MIT\nyes\n"


def test_a_missing_licence_is_told_at_the_licence(tmp_path):
    url = zipped(tmp_path / "a.zip", {"m.onnx": scale_bytes(), "LICENSE.md": b"MIT"}).as_uri()
    sha256 = digest_bytes(scale_bytes())

    with pytest.raises(WorkError) as caught:
        fetch_url(
            run_for(
                "model",
                "license",
                url=url,
                member="m.onnx",
                sha256=sha256,
                license_member="LICENSE",
            )
        )

    assert caught.value.place == "license.member"
    assert caught.value.hint == "did you mean 'LICENSE.md'?"


def test_side_files_of_an_archive_want_the_archive_pinned(tmp_path):
    data = write_with_side_file(tmp_path / "m")
    files = {"m/m.onnx": data, "m/m.data": (tmp_path / "m/m.data").read_bytes()}
    archive = zipped(tmp_path / "a.zip", files)
    whole = digest_bytes(archive.read_bytes())
    values = {"url": archive.as_uri(), "member": "m/m.onnx"}

    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", **values, sha256=digest_bytes(data)))
    shutil.rmtree("out")
    fetch_url(run_for("model", **values, sha256=whole))

    assert caught.value.hint == f"pin the whole archive: sha256: {whole}"
    assert made() == ["model/m.data", "model/model.onnx"]


def test_a_git_lfs_pointer_in_an_archive_is_called_that(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123\n"
    url = zipped(tmp_path / "a.zip", {"m.onnx": pointer}).as_uri()

    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url=url, member="m.onnx", sha256="0" * 64))

    assert caught.value.message == "'m.onnx of a.zip' is a Git LFS pointer, not the model"


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://a b/m.onnx", "http://h:99999/m"])
def test_a_url_that_can_be_none_is_told_without_asking_anybody(url):
    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url=url, member=None, sha256="0" * 64))

    assert caught.value.message == f"'{url}' is not the URL of a file"


def test_a_scheme_that_nobody_downloads_is_told():
    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url="ftp://host/m.onnx", member=None, sha256="0" * 64))

    assert caught.value.message == "a 'ftp' URL cannot be downloaded"


def test_certificates_that_are_not_there_are_told_by_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))

    with pytest.raises(WorkError) as caught:
        fetch_url(run_for("model", url="https://host/m.onnx", member=None, sha256="0" * 64))

    assert caught.value.message == "the file of trusted certificates is not there"
    assert caught.value.facts == (("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem")),)
