"""What a package holds, by member name: a zip or wheel, a tar of any kind, an unpacked folder.

Members are only ever copied to a file that we name, so no name in an archive leads out of a folder.
"""

from __future__ import annotations

import difflib
import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from qnnbuild.formats.bounded_tar import Bomb, most_bytes, open_tar
from qnnbuild.work.run import WorkError

MAX_MEMBER_BYTES = 64 << 30
"""More than any model has, however large the archive is."""

UNPACKING = (
    *(zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(ValueError, LookupError, OverflowError, RuntimeError),
)
BROKEN = (tarfile.TarError, zipfile.BadZipFile, *UNPACKING)
"""What the archive readers raise for damaged data; OSError is what bz2 and gzip choose."""


class Package(Protocol):
    """Files by name. Names have `/` between folders and no leading `./`."""

    @property
    def title(self) -> str: ...

    def names(self) -> tuple[str, ...]: ...

    def copy(self, member: str, to: Path) -> None: ...


def open_archive(path: Path, title: str) -> Package:
    """The archive at `path`, whatever kind its content says; its name does not matter."""
    if zipfile.is_zipfile(path):
        return ZipPackage(path, title)
    try:
        with open_tar(path):
            return TarPackage(path, title)
    except (Bomb, *UNPACKING) as error:
        raise _broken(title, error) from error
    except tarfile.TarError:
        pass  # none at all
    raise WorkError(
        f"{title} is no zip and no tar, so it has no members",
        place="source.member",
        hint="leave out `member` if the file is the ONNX itself",
    )


def missing_member(package: Package, member: str, place: str = "source.member") -> WorkError:
    """The error that names the nearest members there are."""
    names = package.names()
    last = PurePosixPath(member).name
    near = [name for name in names if PurePosixPath(name).name == last]
    near += difflib.get_close_matches(member, names, n=5, cutoff=0.5)
    near += [name for name in names if name.endswith(PurePosixPath(last).suffix or ".onnx")]
    shown = list(dict.fromkeys(near))[:5]
    return WorkError(
        f"{package.title} has no member '{member}'",
        place=place,
        facts=[("members", f"{len(names)}"), *(("near", name) for name in shown)],
        hint=f"did you mean '{shown[0]}'?" if shown else None,
        exit_code=2,
    )


class ZipPackage:
    def __init__(self, path: Path, title: str) -> None:
        self.title = title
        self._path = path

    def names(self) -> tuple[str, ...]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                return tuple(_tidy(i.filename) for i in archive.infolist() if not _is_folder(i))
        except BROKEN as error:
            raise _broken(self.title, error) from error

    def copy(self, member: str, to: Path) -> None:
        try:
            with zipfile.ZipFile(self._path) as archive:
                for info in archive.infolist():
                    if _tidy(info.filename) != member or _is_folder(info):
                        continue
                    if info.flag_bits & 1:
                        raise WorkError(f"{self.title} is encrypted", place="source")
                    with archive.open(info) as file:
                        _copy(file, to, member, most_bytes(self._path.stat().st_size))
                    return
        except FileExistsError:
            raise
        except BROKEN as error:
            raise _broken(self.title, error) from error
        raise missing_member(self, member)


class TarPackage:
    def __init__(self, path: Path, title: str) -> None:
        self.title = title
        self._path = path

    def names(self) -> tuple[str, ...]:
        try:
            with open_tar(self._path) as archive:
                return tuple(_tidy(i.name) for i in archive if not i.isdir())
        except BROKEN as error:
            raise _broken(self.title, error) from error

    def copy(self, member: str, to: Path) -> None:
        try:
            with open_tar(self._path) as archive:
                for info in archive:
                    if _tidy(info.name) != member or info.isdir():
                        continue
                    file = archive.extractfile(info)  # a link is looked up inside the archive only
                    if file is None:
                        raise WorkError(f"'{member}' in {self.title} is not a file", place="source")
                    with file:
                        _copy(file, to, member, most_bytes(self._path.stat().st_size))
                    return
        except FileExistsError:
            raise
        except KeyError as error:  # tarfile's word for a link to nowhere
            raise WorkError(
                f"'{member}' in {self.title} is a link to a file that is not in there",
                place="source.member",
            ) from error
        except BROKEN as error:
            raise _broken(self.title, error) from error
        raise missing_member(self, member)


class FolderPackage:
    """A package that was unpacked already; members may be named with their archive's top folder."""

    def __init__(self, path: Path, title: str, top: str = "") -> None:
        self.title = title
        self._path = path
        self._top = top

    def names(self) -> tuple[str, ...]:
        files = (file for file in self._path.rglob("*") if file.is_file())
        return tuple(sorted(file.relative_to(self._path).as_posix() for file in files))

    def copy(self, member: str, to: Path) -> None:
        names = set(self.names())
        for name in (member, member.removeprefix(f"{self._top}/")):
            path = self._path / name
            if name in names and path.resolve().is_relative_to(self._path.resolve()):
                with path.open("rb") as file:
                    _copy(file, to, member)
                return
        raise missing_member(self, member)


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith("/")  # zipfile's own question falls over a name of no letters


def _copy(file: IO[bytes], to: Path, member: str, most: int = MAX_MEMBER_BYTES) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("xb") as out:
        while block := file.read(1 << 20):
            try:
                out.write(block)
            except OSError as error:  # else it would be taken for damage of the archive
                raise WorkError(
                    f"'{member}' cannot be written: {error.strerror}", place="source", exit_code=6
                ) from error
            if out.tell() > min(most, MAX_MEMBER_BYTES):
                raise WorkError(
                    f"'{member}' unfolds to more than {min(most, MAX_MEMBER_BYTES) >> 30} GiB",
                    place="source.member",
                    hint="no model packs so well: the archive is damaged, or made to fill disks",
                )


def _tidy(name: str) -> str:
    return name.removeprefix("./")


def _broken(title: str, error: Exception) -> WorkError:
    return WorkError(
        f"{title} is damaged: {error}",
        place="source",
        hint="the download may have been cut, or the file is not what its name says",
    )
