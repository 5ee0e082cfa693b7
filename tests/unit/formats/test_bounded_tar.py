"""Bombs of a few kilobytes: told before they take memory or disk."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from qnnbuild.formats import bounded_tar
from qnnbuild.formats.bounded_tar import Bomb, most_bytes, open_tar


def header(kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo("m")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_name_of_gigabytes_takes_no_memory(tmp_path: Path, kind: bytes):
    path = tmp_path / "bomb.tar.gz"
    with gzip.open(path, "wb") as file:
        file.write(header(kind, 1 << 40))
        for _ in range(80):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    told = "a name or list of attributes of 1,099,511,627,776 bytes"
    with pytest.raises(Bomb, match=told), open_tar(path) as archive:
        archive.next()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert path.stat().st_size < 200_000
    assert peak < 8 << 20


def test_zeros_that_unfold_without_end_are_stopped(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(bounded_tar, "AT_LEAST", 1 << 20)
    monkeypatch.setattr(bounded_tar, "RATIO", 3)
    path = tmp_path / "bomb.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("one", "two"):
            member = tarfile.TarInfo(name)
            member.size = 4 << 20
            archive.addfile(member, io.BytesIO(bytes(4 << 20)))

    with pytest.raises(Bomb, match="it unfolds to more than"), open_tar(path) as found:
        found.getnames()


@pytest.mark.parametrize("kind", ["", "gz", "bz2", "xz"])
def test_an_archive_of_any_kind_is_read(tmp_path: Path, kind: str):
    path = tmp_path / "a"
    long = "d/" * 100 + "x"
    with tarfile.open(path, f"w:{kind}") as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo(long)
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))

    with open_tar(path) as found:
        assert found.getnames() == [long]


def test_large_models_may_pack_well():
    assert most_bytes(1 << 20) == 4 << 30
    assert most_bytes(1 << 30) == 300 << 30
