"""What other machines send, and what other builds left."""

from __future__ import annotations

import io
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.target import DEEP, ROOT, scratch

if TYPE_CHECKING:
    from qnnbuild.engine.records import Records
    from qnnbuild.engine.store import Store

MOST_UNPACKED = 1 << 22

PEM_KEY = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA9QjIsAbMS7GV5elEtUrdRnxOoqVnH54CR2Ijur5zeZc=
-----END PUBLIC KEY-----
"""
MINISIGN_KEY = "RWTpHzWQb8/U3uZB+/qRDoBXOhzNFrY5wro8YIH32/S/kbQ2orRQ/Lqu"
"""Keys that sign nothing: nobody has kept their private ones."""


def _store_import(data: bytes) -> None:
    from qnnbuild.engine.records import Records
    from qnnbuild.engine.stats import Stats
    from qnnbuild.engine.store import Store
    from qnnbuild.engine.store_pack import unpack
    from qnnbuild.errors import StoreError

    root = Path(scratch())
    if not _stores:
        _stores.append((Store(root, Stats()), Records(Path(":memory:"), "fuzz")))
    ((store, records),) = _stores
    source = root / "part.tar"
    source.write_bytes(data)
    with suppress(StoreError):
        unpack(store, records, source)


_stores: list[tuple[Store, Records]] = []


def _pack_seeds() -> Iterator[bytes]:
    import json
    import tarfile

    from qnnbuild.actions.key import key_of
    from qnnbuild.actions.record import Record, Tree
    from qnnbuild.digest import digest_bytes

    parts = {"step": "x"}
    key, digest = key_of(parts), digest_bytes(b"aa")
    outputs = {"o": Tree(files={"f": (digest, 2)})}
    record = Record(key=key, name="x/m", step="x", parts=parts, outputs=outputs)
    about = json.dumps({"format": 1, "bytes": 2, "records": 1}).encode()
    members = {
        "qnnbuild-store.json": about,
        f"artifacts/{digest}": b"aa",
        f"records/{key}.json": record.to_json().encode(),
    }
    kinds: tuple[Any, ...] = ("w", "w:gz", "w:xz")
    for kind in kinds:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode=kind) as tar:
            for name, contents in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(contents)
                tar.addfile(member, io.BytesIO(contents))
        yield made.getvalue()


def _remote_result(data: bytes) -> None:
    from qnnbuild.remote.cache import Wrong
    from qnnbuild.remote.result import found_in, record_of

    with suppress(Wrong):
        found = found_in(data, ("context",))
        record_of(found, found.record.contents, key="0" * 64, name="n", step="context", parts={})


def _result_seeds() -> Iterator[bytes]:
    from qnnbuild.actions.record import Record, Tree
    from qnnbuild.remote.result import result_of

    outputs = {"context": Tree(files={"x/m.bin": ("a" * 64, 1), "m.onnx": ("b" * 64, 2)})}
    record = Record(key="0" * 64, name="n", step="context", parts={}, outputs=outputs)
    yield result_of(record, b"log")[0]


def _result_signature(data: bytes) -> None:
    from qnnbuild.engine.result_signing import Unsigned, check

    with suppress(Unsigned):
        check(data, "0" * 64, b"{}", _public_keys())


@cache
def _public_keys() -> tuple[Any, ...]:
    from qnnbuild.engine.result_signing import trusted_keys

    return trusted_keys([PEM_KEY, MINISIGN_KEY], Path())


def _signature_seeds() -> Iterator[bytes]:
    """By the keys that are trusted, and of something else."""
    pem, _ = _public_keys()
    yield json.dumps([{"keyid": pem.key.keyid, "sig": b64encode(bytes(64)).decode()}]).encode()
    number = b64decode(MINISIGN_KEY)[2:10]
    comments = b"untrusted comment: by nobody", b"trusted comment: timestamp:1"
    lines = (b64encode(b"ED" + number + bytes(64)), b64encode(bytes(64)))
    yield b"\n".join((comments[0], lines[0], comments[1], lines[1], b""))


def _record(data: bytes) -> None:
    from qnnbuild.actions.record import Record

    with suppress(ValueError):
        Record.from_json(data.decode("utf-8", "replace"))


def _record_seeds() -> Iterator[bytes]:
    from qnnbuild.actions.record import Record, Tree

    outputs = {"o": Tree(files={"f": ("a" * 64, 1)})}
    yield Record(key="0" * 64, name="n", step="s", parts={}, outputs=outputs).to_json().encode()
    yield from DEEP


def _zstd(data: bytes) -> None:
    import zstandard

    from qnnbuild.remote.zstd import unpacked

    size = 0
    with suppress(zstandard.ZstdError):
        for part in unpacked([data[:7], data[7:]]):
            size += len(part)
            if size > MOST_UNPACKED:
                return


def _zstd_seeds() -> Iterator[bytes]:
    from qnnbuild.remote.zstd import packed

    yield b"".join(packed(io.BytesIO(b"a" * 1000 + bytes(range(256)))))
    yield b"".join(packed(io.BytesIO(b""))) * 2


def _manifests(data: bytes) -> None:
    """What a page of a build holds of itself, and what a folder's manifest lists."""
    from qnnbuild.engine.folder import _files_of  # the reader is private to its folder

    folder = Path(scratch())
    (folder / "manifest.json").write_bytes(data)
    _files_of(folder)


def _manifest_seeds() -> Iterator[bytes]:
    yield (ROOT / "tests/golden/bundle/manifest.json").read_bytes()
    yield from DEEP


SENT = {
    "store-import": (_store_import, _pack_seeds),
    "remote-result": (_remote_result, _result_seeds),
    "result-signature": (_result_signature, _signature_seeds),
    "record": (_record, _record_seeds),
    "zstd": (_zstd, _zstd_seeds),
    "manifest": (_manifests, _manifest_seeds),
}
