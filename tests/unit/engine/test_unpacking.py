"""Archives of strangers: nothing leaves the folder, nothing floods it."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from qnnbuild.engine.unpacking import unpack
from qnnbuild.errors import NotGood


def archive(path: Path, *members: tarfile.TarInfo, data: bytes = b"data") -> Path:
    with tarfile.open(path, "w:bz2") as made:
        for member in members:
            member.size = len(data) if member.isreg() else 0
            made.addfile(member, io.BytesIO(data) if member.isreg() else None)
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def test_files_and_folders_are_taken(tmp_path: Path) -> None:
    folder = member("m", tarfile.DIRTYPE)
    packed = archive(tmp_path / "a.tar.bz2", folder, member("m/x.bin"), member("m/deep/y.bin"))
    (tmp_path / "out").mkdir()

    unpack(packed, tmp_path / "out")

    found = sorted(p.relative_to(tmp_path / "out").as_posix() for p in tmp_path.rglob("*.bin"))
    assert found == ["m/deep/y.bin", "m/x.bin"]
    assert (tmp_path / "out/m/x.bin").read_bytes() == b"data"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (member("../out"), "leads out"),
        (member("/etc/x"), "leads out"),
        (member("m/../../x"), "leads out"),
        (member("m\\..\\x"), "leads out"),
        (member("m/link", tarfile.SYMTYPE, "/etc/passwd"), "neither file nor folder"),
        (member("m/link", tarfile.LNKTYPE, "m/x.bin"), "neither file nor folder"),
        (member("m/pipe", tarfile.FIFOTYPE), "neither file nor folder"),
        (member("m/device", tarfile.CHRTYPE), "neither file nor folder"),
        (member("M/X.bin"), "twice, or one file with it on some disk"),
        (member("m/x.bin"), "twice, or one file with it on some disk"),
        (member("m/./x.bin"), "twice, or one file with it on some disk"),
        (member("m//x.bin"), "twice, or one file with it on some disk"),
        (member("m/x.b\u0131n"), "'m/x.bin' and 'm/x.b\u0131n', which look alike"),
        (member("m/\uff58.bin"), "which look alike"),
        (member("m/x\u200b.bin"), "a name with characters that nobody sees"),
        (member("m/\u202enib.y"), "a name with characters that nobody sees"),
        (member("m/x.bin/y"), "cannot lie beside the rest of it"),
        (member("m/x.bin/y", tarfile.DIRTYPE), "cannot lie beside the rest of it"),
        (member("m", tarfile.REGTYPE), "cannot lie beside the rest of it"),
        (member("a" * 300), "cannot lie beside the rest of it"),
    ],
)
def test_what_would_leave_the_folder_ends_it(
    tmp_path: Path, bad: tarfile.TarInfo, says: str
) -> None:
    packed = archive(tmp_path / "a.tar.bz2", member("m/x.bin"), bad)
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(NotGood, match=says):
        unpack(packed, out)

    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["a.tar.bz2", "x.bin"]


def test_a_bomb_ends_before_it_is_written(tmp_path: Path) -> None:
    packed = archive(tmp_path / "a.tar.bz2", member("m/zeros"), data=bytes(1 << 20))
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(NotGood, match="more than any bundle"):
        unpack(packed, out, most_bytes=(1 << 20) - 1)

    assert list(out.iterdir()) == []


def test_a_list_of_attributes_without_end_is_not_read(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 600 << 20
    packed = tmp_path / "a.tar.gz"
    packed.write_bytes(gzip.compress(header.tobuf() + bytes(1 << 20)))
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(NotGood, match=r"a\.tar\.gz is no bundle: a name or list of attributes"):
        unpack(packed, out)


@pytest.mark.parametrize("cut", [0, 10, 60, -20])
def test_a_damaged_archive_is_told_as_such(tmp_path: Path, cut: int) -> None:
    packed = archive(tmp_path / "a.tar.bz2", member("m/x.bin"), data=bytes(range(256)) * 50)
    packed.write_bytes(packed.read_bytes()[:cut])
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(NotGood, match=r"a\.tar\.bz2"):
        unpack(packed, out)


def test_every_flipped_byte_is_told_or_harmless(tmp_path: Path) -> None:
    packed = archive(tmp_path / "a.tar.bz2", member("m/x.bin"), data=bytes(range(256)) * 4)
    whole = packed.read_bytes()
    for at in range(0, len(whole), 7):
        packed.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        out = tmp_path / f"out-{at}"
        out.mkdir()
        try:
            unpack(packed, out)
        except NotGood:
            continue

        assert (out / "m/x.bin").read_bytes() == bytes(range(256)) * 4
