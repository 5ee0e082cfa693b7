"""A part of a store as one file, and a store that takes it in.

The file is a tar archive: a word about itself, then artifacts, then records, which may only name
artifacts that came before. What is taken in is checked byte by byte: it may come from anywhere.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO

from qnnbuild.actions.key import key_of
from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest, canonical, digest_file
from qnnbuild.engine.inputs import is_inside
from qnnbuild.engine.records import Records
from qnnbuild.engine.store import Store, on_disk
from qnnbuild.engine.store_check import room_left
from qnnbuild.errors import StoreError
from qnnbuild.formats.bounded_tar import open_tar

ABOUT = "qnnbuild-store.json"
PACK_FORMAT = 1
MEMBER = re.compile(r"(artifacts|records)/([0-9a-f]{64})(\.json)?")
LARGEST_RECORD = 64 << 20
RESERVE = 1 << 30
"""So many bytes stay free on the disk."""

BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)

COMPRESSED = {".gz": "gz", ".tgz": "gz", ".xz": "xz", ".bz2": "bz2"}


@dataclass(kw_only=True)
class Packed:
    records: int = 0
    artifacts: int = 0
    total_bytes: int = 0
    known: int = 0  # artifacts that the store had already


def pack(store: Store, records: Iterable[Record], to: Path) -> Packed:
    """Write `records` and all their artifacts to `to`, the same bytes each time.

    Compressed as the name's ending says: .gz, .xz, .bz2, or not at all.
    """
    chosen = sorted({record.key: record for record in records}.items())
    files = {f for _, record in chosen for t in record.outputs.values() for f in t.files.values()}
    told = Packed(records=len(chosen), artifacts=len(files), total_bytes=sum(s for _, s in files))
    beside = to.with_name(f".{to.name}.new")
    with on_disk(f"{to.name} cannot be written"):
        try:
            with _create(beside, to.suffix) as archive:
                about = {"format": PACK_FORMAT, "bytes": told.total_bytes, "records": told.records}
                _put(archive, ABOUT, canonical(about))
                for digest, size in sorted(files):
                    _put_artifact(store, archive, digest, size)
                for key, record in chosen:
                    _put(archive, f"records/{key}.json", record.to_json().encode())
            beside.replace(to)
        finally:
            beside.unlink(missing_ok=True)
    return told


@contextmanager
def _create(path: Path, suffix: str) -> Iterator[tarfile.TarFile]:
    kind = COMPRESSED.get(suffix, "")
    if kind != "gz":
        with tarfile.open(path, f"w:{kind}", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
            yield archive
        return
    # tarfile's own gzip writes the time of day
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        yield archive


def _put(archive: tarfile.TarFile, name: str, contents: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(contents), 0o444
    archive.addfile(member, BytesIO(contents))


def _put_artifact(store: Store, archive: tarfile.TarFile, digest: Digest, size: int) -> None:
    if not store.whole(digest, size):
        raise StoreError(
            "an artifact is missing or damaged",
            facts=[("artifact", digest)],
            hint="run the build again: what is missing is made again",
        )
    member = tarfile.TarInfo(f"artifacts/{digest}")
    member.size, member.mode = size, 0o444
    with store.path(digest).open("rb") as file:
        archive.addfile(member, file)


def unpack(store: Store, records: Records, source: Path) -> Packed:
    """Take all of `source` in. What is wrong with it is told; what was whole before stays."""
    with on_disk(f"{source.name} cannot be read"), store.private() as folder:
        taking = _Taking(store=store, records=records, source=source, folder=folder)
        try:
            with open_tar(source) as archive:
                taking.all_of(archive)
        except (*BROKEN, EOFError, ValueError, OverflowError) as error:
            raise taking.bad(f"it is damaged: {error}") from error
    return taking.told


@dataclass(kw_only=True)
class _Taking:
    store: Store
    records: Records
    source: Path
    folder: Path
    told: Packed = field(default_factory=Packed)
    here: set[tuple[Digest, int]] = field(default_factory=set)  # artifacts that came

    def all_of(self, archive: tarfile.TarFile) -> None:
        about = archive.next()
        if about is None or about.name != ABOUT or not about.isreg() or about.size > 4096:
            raise self.bad("it is not what `qnnbuild store export` writes")
        self._check_about(json.loads(_contents(archive, about).read()))
        for member in archive:
            if member is about:
                continue
            kind, digest = self._checked_name(member)
            file = _contents(archive, member)
            if kind == "artifacts":
                self._take_artifact(digest, member.size, file)
            else:
                self._take_record(digest, file.read())

    def _check_about(self, about: object) -> None:
        if not isinstance(about, dict) or about.get("format") != PACK_FORMAT:
            raise self.bad("it is of another form than this qnnbuild writes")
        free, wanted = room_left(self.store), about.get("bytes")
        if not isinstance(wanted, int) or wanted < 0:
            raise self.bad("it does not say how large it is")
        if wanted + RESERVE > free:
            raise StoreError(
                f"{self.source.name} does not fit on the disk",
                facts=[("needs", f"{wanted:,} bytes"), ("free", f"{free:,} bytes")],
                hint="qnnbuild store gc",
            )

    def _checked_name(self, member: tarfile.TarInfo) -> tuple[str, Digest]:
        found = MEMBER.fullmatch(member.name)
        if found is None or not member.isreg() or (found[1] == "records") != (found[3] == ".json"):
            raise self.bad(f"it has what does not belong there: {member.name[:80]!r}")
        if found[1] == "records" and member.size > LARGEST_RECORD:
            raise self.bad(f"a record of {member.size:,} bytes is none")
        return found[1], found[2]

    def _take_artifact(self, digest: Digest, size: int, file: IO[bytes]) -> None:
        self.told.artifacts += 1
        self.told.total_bytes += size
        self.here.add((digest, size))
        if self.store.whole(digest, size):
            self.told.known += 1
            return
        if size + RESERVE > room_left(self.store):
            raise self.bad("it is larger than it says, and does not fit on the disk")
        private = self.folder / digest
        with private.open("xb") as write:
            shutil.copyfileobj(file, write, 1 << 20)
        if digest_file(private) != digest:
            raise self.bad(f"artifact {digest[:16]}… has other contents than its name says")
        self.store.add(private)

    def _take_record(self, key: Digest, text: bytes) -> None:
        record = Record.from_json(text.decode())
        files = [item for tree in record.outputs.values() for item in tree.files.items()]
        if record.key != key or key_of(record.parts) != key:
            raise self.bad(f"record {key[:16]}… is of another key")
        if not all(is_inside(name) for name, _ in files):
            raise self.bad(f"record {key[:16]}… names a file outside of its output")
        if not self.here.issuperset(file for _, file in files):
            raise self.bad(f"record {key[:16]}… names an artifact that is not in it")
        self.records.take(record)
        self.told.records += 1

    def bad(self, why: str) -> StoreError:
        return StoreError(
            f"{self.source.name} cannot be taken in: {why}", facts=[("file", str(self.source))]
        )


def _contents(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(member)
    if file is None:
        raise tarfile.TarError(f"{member.name} has no contents")
    return file
