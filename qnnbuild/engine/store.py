"""The store: files by digest, read-only, each there as a whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from qnnbuild.digest import Digest, digest_bytes, digest_file
from qnnbuild.engine.signature import Signature
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.to_disk import OnItsWay, move_and_sync
from qnnbuild.errors import StoreError

FICLONE = 0x40049409
"""Linux's ioctl for a copy that shares its blocks until one side is written (btrfs, XFS)."""

JUST_S = 600.0
"""How long what this process has added counts as just added: workers of clusters live for days."""

LARGE = 1 << 24
"""Bytes of a file from which a thread is worth its while."""

AT_ONCE = 1 << 18
"""Bytes that are read and written at once."""


class Gone(Exception):
    """An artifact is not in the store, though a moment ago it seemed to be."""


class Store:
    """Folders below the root: artifacts/ab/<digest>, logs/ab/<key>.log, tmp/<run>/, locks/, …"""

    def __init__(self, root: Path, stats: Stats, *, only_look: bool = False) -> None:
        """With `only_look` nothing is made: who asks what a build would do needs no store."""
        self.root = root
        self.stats = stats
        self._artifacts = str(root / "artifacts")
        self._added: dict[Digest, tuple[Signature, float]] = {}  # by this process, and when
        if only_look:
            return
        for name in ("artifacts", "logs", "tmp", "locks", "envs", "builds"):
            try:
                (root / name).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the store cannot be used: {error.strerror}",
                    facts=[("store", str(root))],
                    hint="give another folder with QNNBUILD_STORE or `store:` in qnnbuild.yaml",
                ) from error

    @property
    def exists(self) -> bool:
        """Whether anybody has built here."""
        return (self.root / "locks").is_dir()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever made here."""
        artifacts = self.root / "artifacts"
        return not artifacts.is_dir() or not os.listdir(artifacts)

    def path(self, digest: Digest) -> Path:
        return Path(f"{self._artifacts}/{digest[:2]}/{digest}")

    def log(self, key: Digest) -> Path:
        return self.root / "logs" / key[:2] / f"{key}.log"

    def whole(self, digest: Digest, size: int) -> bool:
        """Whether the artifact is there with its own bytes. A damaged one is dropped."""
        path = self.path(digest)
        # what a link names is somebody else's file, to be edited at any time
        signature = Signature.of(path, links=False)
        right_size = signature is not None and signature.size == size
        if right_size and self.stats.digest(path, signature) == digest:
            return True
        # what came into its place while it was read is another build's good one
        if os.path.lexists(path) and Signature.of(path, links=False) == signature:
            remove(path)
        return False

    def add(self, file: Path, known: Digest | None = None) -> tuple[Digest, int]:
        """Move `file`, which must lie in the store's own tmp folder, in; return digest and size.

        `known` is its digest, where that need not be asked.
        """
        file.chmod(0o444)  # first: a tool may have made what nobody can read
        size = file.stat().st_size
        on_its_way = OnItsWay(file) if size >= LARGE and known is None else None
        digest = known or digest_file(file)
        path = self.path(digest)
        if self.whole(digest, size) and self._touch(path, digest):
            file.unlink()
            return digest, size
        path.parent.mkdir(exist_ok=True)
        os.utime(file)  # a collection of garbage goes by it, and some tools keep old times
        if on_its_way is not None:
            on_its_way.wait()
        move_and_sync(file, path)
        self.stats.know(path, digest)
        if (signature := self.stats.signature(path)) is not None:
            self._added[digest] = signature, time.monotonic()
        return digest, size

    def _touch(self, path: Path, digest: Digest) -> bool:
        """Tell a collection of garbage that the artifact is wanted; False when it was faster."""
        just_added = self._was_just_added(digest, path)
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        self.stats.know(path, digest)
        if just_added and (signature := self.stats.signature(path)) is not None:
            self._added[digest] = signature, self._added[digest][1]
        return True

    def discard(self, digest: Digest, before_ns: int) -> int:
        """Remove an artifact that nobody has added since; return the bytes that this freed.

        It is first moved aside: who adds it then puts a new one in its place, and who touched
        it just before is seen by the time of the file.
        """
        path = self.path(digest)
        try:
            if os.lstat(path).st_mtime_ns >= before_ns:
                return 0
            with self.private() as folder:  # a collection that is killed leaves it to a sweep
                aside = folder / digest
                os.replace(path, aside)
                found = os.lstat(aside)
                if found.st_mtime_ns >= before_ns and not path.exists():
                    os.replace(aside, path)
                    return 0
        except FileNotFoundError:
            return 0
        return found.st_size

    def read(self, digest: Digest) -> bytes:
        """An artifact's own bytes. Raises StoreError when they are gone or others."""
        data = self.path(digest).read_bytes() if self.path(digest).exists() else b""
        if digest_bytes(data) != digest:
            remove(self.path(digest))
            raise StoreError(
                "an artifact in the store is damaged or gone",
                facts=[("artifact", str(self.path(digest)))],
                hint="run the build again: what is missing is made again",
            )
        return data

    def copy(self, digest: Digest, to: Path) -> None:
        """A private copy that its owner may write to.

        Raises Gone when there is no such artifact. What is copied is read: a disk changes bytes
        without a time stamp, and an artifact whose bytes are others is dropped. What this process
        itself has added is still in memory, and was read a moment ago.
        """
        path = self.path(digest)
        try:
            if self._was_just_added(digest, path):
                copy_file(path, to)
                return
            found = copy_and_digest(path, to)
        except FileNotFoundError as error:
            raise Gone(f"{path} is gone") from error
        if found != digest:
            to.unlink()
            remove(path)
            raise Gone(f"{path} was damaged")

    def _was_just_added(self, digest: Digest, path: Path) -> bool:
        signature, added_s = self._added.get(digest, (None, 0.0))
        if signature is None or time.monotonic() - added_s > JUST_S:
            return False
        return signature == self.stats.signature(path)

    @contextmanager
    def private(self) -> Iterator[Path]:
        """An empty folder of one's own in the store's file system; gone afterwards.

        The folder's name has the same length on each run: the length of a path can shift
        what a compiler leaves in its padding.
        """
        folder = self.root / "tmp" / uuid4().hex
        with _held(folder.with_suffix(".lock")):
            folder.mkdir()
            try:
                yield folder
            finally:
                remove(folder)

    def sweep(self) -> None:
        """Remove what runs that were killed left behind; what a living run holds stays."""
        for path in (self.root / "tmp").glob("*.lock"):
            _sweep(path, path.with_suffix(""))
        for path in (self.root / "locks").glob("*"):
            _sweep(path)

    @contextmanager
    def locked(self, key: Digest, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold `key` against every other thread and process that shares the store.

        `waiting` is called again and again while somebody else has it; it may raise.
        """
        with _held(self.root / "locks" / key, waiting):
            yield


@contextmanager
def _held(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock file, which is there for this time only."""
    while True:
        with open(path, "a") as lock:
            _lock(lock.fileno(), waiting)
            # it may have been unlinked between open and flock: then nobody else sees it
            if _is_at(lock.fileno(), path):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return


def _sweep(lock: Path, *guarded: Path) -> None:
    """Remove a lock that nobody holds, after what it guards."""
    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_at(file.fileno(), lock):
                return  # it is somebody else's by now
            for path in guarded:
                remove(path)
            lock.unlink(missing_ok=True)
    except (BlockingIOError, FileNotFoundError, PermissionError):
        return  # it lives, somebody else swept it, or it is another user's


def _lock(descriptor: int, waiting: Callable[[], None]) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            time.sleep(0.05)
        else:
            return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


def copy_file(source: Path, to: Path) -> None:
    """Copy contents, sharing blocks where the file system can; mode 0644, a fresh file."""
    with source.open("rb") as read, to.open("xb") as write:
        if not _share_blocks(read, write):
            shutil.copyfileobj(read, write, AT_ONCE)


def copy_and_digest(source: Path, to: Path) -> Digest:
    """Copy like `copy_file`; the digest of the very bytes that were written."""
    with source.open("rb", buffering=0) as read, to.open("xb") as write:
        if _share_blocks(read, write):
            return digest_file(to)
        return _written(read, write)


def _share_blocks(read: IO[bytes], write: IO[bytes]) -> bool:
    try:
        fcntl.ioctl(write.fileno(), FICLONE, read.fileno())
    except OSError:  # most file systems cannot; a plain copy is always right
        return False
    return True


_mine = threading.local()
"""A buffer for each thread that copies."""


def _written(read: IO[bytes], write: IO[bytes]) -> Digest:
    """Write all that is read, part by part through the same buffer.

    New memory for each part costs more than to read it, and a part that stays in a core's cache is
    digested and written at once: half the time of large parts.
    """
    found = hashlib.sha256()
    buffer = getattr(_mine, "buffer", None)
    if buffer is None:
        buffer = _mine.buffer = memoryview(bytearray(AT_ONCE))
    while count := read.readinto(buffer):  # type: ignore[attr-defined] # files have it, IO has not
        part = buffer[:count]
        write.write(part)
        found.update(part)
    return found.hexdigest()


@contextmanager
def on_disk(what: str) -> Iterator[None]:
    """Tell what the disk refuses (it is full, read-only, not ours) as StoreError."""
    try:
        yield
    except OSError as error:
        facts = [("file", os.fsdecode(error.filename))] if error.filename else []
        raise StoreError(f"{what}: {error.strerror or error}", facts=facts) from error


def place(path: Path, contents: bytes) -> None:
    """Write beside, then rename: nobody ever sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{uuid4().hex}.new")
    try:
        new.write_bytes(contents)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove what is there, if anything: a file, a link, or a folder with read-only parts in it."""
    if os.path.islink(path) or not os.path.isdir(path):
        path.unlink(missing_ok=True)
        return
    try:
        _remove_folder(path)
    except PermissionError:
        _open_up(path)
        _remove_folder(path)


def _remove_folder(folder: Path) -> None:
    def unless_gone(_function: object, _path: str, caught: tuple[Any, Any, Any]) -> None:
        if not isinstance(caught[1], FileNotFoundError):
            raise caught[1]

    # onerror: onexc came with Python 3.12
    shutil.rmtree(folder, onerror=unless_gone)


def _open_up(folder: str | Path) -> None:
    """Let the owner change all folders in it; what links lead to is not ours and stays as it is."""
    os.chmod(folder, 0o700)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _open_up(entry.path)
