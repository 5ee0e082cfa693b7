"""An archive of a stranger's, unpacked into a folder of our own: nothing leaves it, nothing floods.

Only plain files and folders are taken. A link, a device, a name that leads out, a name twice or a
size beyond the limits ends it.
"""

from __future__ import annotations

import errno
import lzma
import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from qnnbuild.engine.inputs import is_inside
from qnnbuild.errors import NotGood, StoreError
from qnnbuild.formats.bounded_tar import Bomb, open_tar
from qnnbuild.text.letters import HOLDS, all_told, folded, hidden_in, skeleton

MOST_MEMBERS = 100_000
MOST_BYTES = 64 << 30
"""Larger than any bundle: a phone would not hold it."""

RESERVE = 1 << 28
"""So many bytes stay free on the disk."""

PIECE = 1 << 20

NO_SUCH_TREE = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
"""What a disk says of names that no files can have beside each other."""


def unpack(archive: Path, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
    """All of a tar archive, however it is compressed, below `folder`. Raises NotGood."""
    try:
        with open_tar(archive) as opened:
            _Taking(folder, most_bytes).all_of(opened)
    except Bomb as error:
        raise NotGood(f"{archive.name} is no bundle: {error}") from None
    except tarfile.ReadError:
        raise NotGood(
            f"{archive.name} is no tar archive that can be read: damaged, or of another kind",
            hint="what is packed otherwise, unpack yourself, and give the folder",
        ) from None
    except (tarfile.TarError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise NotGood(f"{archive.name} is damaged: {error}") from None
    except OSError as error:
        if error.filename is None and error.errno is None:  # what bz2 says of damaged data
            raise NotGood(f"{archive.name} is damaged: {error}") from None
        raise


class _Taking:
    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.left = most_bytes
        self.names: set[str] = set()
        self.looks: dict[str, str] = {}

    def all_of(self, archive: tarfile.TarFile) -> None:
        for member in archive:
            self._check(member)
            try:
                self._take(archive, member)
            except OSError as error:
                if error.errno not in NO_SUCH_TREE:
                    raise
                raise NotGood(
                    f"the archive holds '{member.name}', which cannot lie beside the rest of it",
                    facts=[("the disk says", os.strerror(error.errno))],
                ) from None
        self._to_the_end(archive)

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = self.folder / member.name
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            return
        self._room_for(member)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._copy(archive, member, path)

    def _check(self, member: tarfile.TarInfo) -> None:
        if not member.isfile() and not member.isdir():
            raise NotGood(f"the archive holds '{member.name}', which is neither file nor folder")
        if not is_inside(member.name) or "\0" in member.name:
            raise NotGood(f"the archive holds '{member.name}', which leads out of its folder")
        if hidden := hidden_in(member.name):
            raise NotGood(
                f"the archive holds '{member.name}', a name with characters that nobody sees",
                facts=[(HOLDS, all_told(hidden))],
            )
        self._check_single(str(PurePosixPath(member.name)))  # m//a and m/./a are m/a
        if len(self.names) > MOST_MEMBERS:
            raise NotGood(f"the archive holds more than {MOST_MEMBERS:,} files")

    def _check_single(self, name: str) -> None:
        same, alike = folded(name), skeleton(name)
        if same in self.names:
            raise NotGood(f"the archive holds '{name}' twice, or one file with it on some disk")
        first = self.looks.setdefault(alike, name)
        if first != name:
            odd = "".join(char for char in (*first, *name) if not char.isascii())
            raise NotGood(
                f"the archive holds '{first}' and '{name}', which look alike",
                facts=[(HOLDS, all_told(odd))],
            )
        self.names.add(same)

    def _room_for(self, member: tarfile.TarInfo) -> None:
        self.left -= member.size
        if self.left < 0:
            raise NotGood(
                "the archive holds more than any bundle",
                facts=[("at", member.name)],
                hint="unpack it yourself, if you trust it, and give the folder",
            )
        told = os.statvfs(self.folder)
        if member.size + RESERVE > told.f_bavail * told.f_frsize:
            raise StoreError(
                "there is no room to unpack the archive",
                facts=[("folder", str(self.folder)), ("wanted", f"{member.size:,} bytes")],
                hint="TMPDIR names another folder",
            )

    def _to_the_end(self, archive: tarfile.TarFile) -> None:
        """Only at its end does a compressed file show that it is damaged."""
        assert archive.fileobj is not None  # it was opened to be read
        while piece := archive.fileobj.read(PIECE):
            self.left -= len(piece)
            if self.left < 0:
                raise NotGood("behind its last file the archive goes on and on")

    @staticmethod
    def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        data = archive.extractfile(member)
        assert data is not None  # it is a file
        with data, path.open("xb") as file:
            while piece := data.read(PIECE):
                file.write(piece)
