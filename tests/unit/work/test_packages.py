from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from qnnbuild.work.packages import FolderPackage, open_archive
from qnnbuild.work.run import WorkError

FILES = {"pkg/data/m.onnx": b"model", "pkg/LICENSE": b"text", "pkg/data/other.onnx": b"other"}


def make_zip(path: Path, files: dict[str, bytes] = FILES) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def make_tar(path: Path, mode: str, files: dict[str, bytes] = FILES) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_member_of_a_tar_of_any_kind_is_found_by_its_plain_name(tmp_path, mode):
    package = open_archive(make_tar(tmp_path / "whatever", mode), "m.tar")

    package.copy("pkg/data/m.onnx", tmp_path / "out" / "m.onnx")

    assert (tmp_path / "out" / "m.onnx").read_bytes() == b"model"
    assert package.names() == tuple(FILES)


def test_a_member_of_a_zip_is_found(tmp_path):
    package = open_archive(make_zip(tmp_path / "whatever"), "m.zip")

    package.copy("pkg/LICENSE", tmp_path / "text")

    assert (tmp_path / "text").read_bytes() == b"text"


def test_a_missing_member_is_answered_with_the_nearest_names(tmp_path):
    package = open_archive(make_zip(tmp_path / "whatever"), "m.zip")

    with pytest.raises(WorkError) as caught:
        package.copy("data/m.onnx", tmp_path / "out")

    assert caught.value.message == "m.zip has no member 'data/m.onnx'"
    assert caught.value.place == "source.member"
    assert caught.value.hint == "did you mean 'pkg/data/m.onnx'?"
    assert caught.value.facts == (
        ("members", "3"),
        ("near", "pkg/data/m.onnx"),
        ("near", "pkg/data/other.onnx"),
    )


def test_a_name_that_leads_out_of_the_folder_writes_only_where_we_say(tmp_path):
    package = open_archive(make_zip(tmp_path / "a", {"../../evil.onnx": b"x"}), "m.zip")

    package.copy("../../evil.onnx", tmp_path / "out" / "m.onnx")

    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == [
        "a",
        "out",
        "out/m.onnx",
    ]


def test_a_link_in_a_tar_is_looked_up_inside_the_archive_only(tmp_path):
    with tarfile.open(tmp_path / "a", "w") as archive:
        link = tarfile.TarInfo("m.onnx")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)

    with pytest.raises(WorkError) as caught:
        open_archive(tmp_path / "a", "m.tar").copy("m.onnx", tmp_path / "out")

    assert caught.value.message == "'m.onnx' in m.tar is a link to a file that is not in there"


def test_a_file_that_is_no_archive_is_an_error_with_a_way_out(tmp_path):
    (tmp_path / "m").write_bytes(b"\x08\x09onnx, say")

    with pytest.raises(WorkError) as caught:
        open_archive(tmp_path / "m", "m.onnx")

    assert caught.value.message == "m.onnx is no zip and no tar, so it has no members"
    assert caught.value.hint == "leave out `member` if the file is the ONNX itself"


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w:bz2"])
def test_a_cut_archive_is_called_damaged(tmp_path, mode):
    path = make_tar(tmp_path / "m.tar", mode, {"m.onnx": bytes(range(256)) * 4000})
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(WorkError) as caught:
        open_archive(path, "m.tar").copy("m.onnx", tmp_path / "out")

    assert caught.value.message.startswith("m.tar is damaged: ")


def test_a_zip_with_a_wrong_checksum_is_called_damaged(tmp_path):
    path = make_zip(tmp_path / "m.zip", {"m.onnx": b"some model bytes"})
    path.write_bytes(path.read_bytes().replace(b"some model", b"same model"))

    with pytest.raises(WorkError) as caught:
        open_archive(path, "m.zip").copy("m.onnx", tmp_path / "out")

    assert caught.value.message == "m.zip is damaged: Bad CRC-32 for file 'm.onnx'"


def test_a_member_that_unfolds_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("qnnbuild.work.packages.MAX_MEMBER_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.onnx", bytes(8 << 20))

    with pytest.raises(WorkError) as caught:
        open_archive(tmp_path / "bomb", "bomb.zip").copy("m.onnx", tmp_path / "out")

    assert caught.value.message == "'m.onnx' unfolds to more than 0 GiB"
    assert (tmp_path / "out").stat().st_size <= 2 << 20


def test_an_unpacked_release_knows_its_members_with_and_without_the_top_folder(tmp_path):
    (tmp_path / "tree" / "pkg").mkdir(parents=True)
    (tmp_path / "tree" / "pkg" / "m.onnx").write_bytes(b"model")
    package = FolderPackage(tmp_path / "tree", "pkg 1.0", "pkg-1.0")

    package.copy("pkg-1.0/pkg/m.onnx", tmp_path / "one")
    package.copy("pkg/m.onnx", tmp_path / "two")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == b"model"


def test_a_link_out_of_an_unpacked_release_is_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "m.onnx").symlink_to(tmp_path / "secret")

    with pytest.raises(WorkError):
        FolderPackage(tmp_path / "tree", "pkg 1.0").copy("m.onnx", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_member_without_a_name_is_told(tmp_path):
    path = make_zip(tmp_path / "m.zip", {"m.onnx": b"x"})
    data = path.read_bytes()
    at = data.rindex(b"PK\x01\x02")
    data = data[: at + 28] + b"\0\0" + data[at + 30 : at + 46] + data[at + 52 :]
    path.write_bytes(data)
    package = open_archive(path, "m.zip")

    with pytest.raises(WorkError) as caught:
        package.copy("m.onnx", tmp_path / "out")

    assert caught.value.message.startswith("m.zip ")


def test_a_name_of_gigabytes_is_told(tmp_path):
    member = tarfile.TarInfo("m")
    member.type, member.size = tarfile.XHDTYPE, 1 << 40
    path = tmp_path / "bomb.tar"
    path.write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(4096))

    with pytest.raises(WorkError) as caught:
        open_archive(path, "bomb.tar")

    told = "bomb.tar is damaged: a name or list of attributes of 1,099,511,627,776 bytes"
    assert caught.value.message == told
