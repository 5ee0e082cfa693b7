"""Copies of artifacts: the same bytes, and read while they are made."""

from __future__ import annotations

import errno
import os
import random
import threading
import time

import pytest

from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import AT_ONCE, Gone, Store, copy_and_digest


@pytest.mark.parametrize("size", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1])
def test_a_copy_is_the_same_and_is_read(tmp_path, size):
    data = random.Random(size).randbytes(size)
    (tmp_path / "from").write_bytes(data)

    assert copy_and_digest(tmp_path / "from", tmp_path / "to") == digest_bytes(data)
    assert (tmp_path / "to").read_bytes() == data


def test_what_is_digested_is_what_was_written(tmp_path, monkeypatch):
    """Not what is in the source a moment later, nor what was there before."""
    data = random.Random(1).randbytes(3 * AT_ONCE + 5)
    (tmp_path / "from").write_bytes(data)
    monkeypatch.setattr("qnnbuild.engine.store._share_blocks", lambda *_: False)
    monkeypatch.setattr("qnnbuild.engine.store.digest_file", None)

    assert copy_and_digest(tmp_path / "from", tmp_path / "to") == digest_bytes(data)
    assert (tmp_path / "to").read_bytes() == data


def test_a_large_artifact_with_a_flipped_bit_is_told_and_dropped(tmp_path):
    store, data = Store(tmp_path / "store", Stats()), random.Random(2).randbytes(AT_ONCE + 1000)
    with store.private() as folder:
        (folder / "file").write_bytes(data)
        digest, _ = store.add(folder / "file")
    path = store.path(digest)
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(AT_ONCE + 10)
        file.write(bytes([data[AT_ONCE + 10] ^ 1]))
    with pytest.raises(Gone, match="was damaged"):
        store.copy(digest, tmp_path / "copy")

    assert not path.exists()
    assert not (tmp_path / "copy").exists()


def test_what_this_process_has_just_added_is_not_digested_again(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", Stats())
    with store.private() as folder:
        (folder / "file").write_bytes(b"some bytes")
        digest, _ = store.add(folder / "file")
    other = Store(tmp_path / "store", Stats())
    other.copy(digest, tmp_path / "by another")
    monkeypatch.setattr("qnnbuild.engine.store.copy_and_digest", None)
    store.copy(digest, tmp_path / "copy")

    assert (tmp_path / "copy").read_bytes() == b"some bytes"
    with pytest.raises(TypeError, match="not callable"):  # it would digest what it copies
        other.copy(digest, tmp_path / "again")


def test_what_was_added_a_while_ago_is_digested_again(tmp_path, monkeypatch):
    """A worker of a cluster lives for days, and disks forget meanwhile."""
    store = Store(tmp_path / "store", Stats())
    with store.private() as folder:
        (folder / "file").write_bytes(b"some bytes")
        digest, _ = store.add(folder / "file")
    monkeypatch.setattr("qnnbuild.engine.store.JUST_S", -1.0)
    monkeypatch.setattr("qnnbuild.engine.store.copy_and_digest", None)

    with pytest.raises(TypeError, match="not callable"):  # it would digest what it copies
        store.copy(digest, tmp_path / "copy")


def added(store: Store) -> Digest:
    with store.private() as folder:
        (folder / "file").write_bytes(b"some bytes")
        return store.add(folder / "file")[0]


def test_what_two_actions_have_just_made_is_not_digested_again_either(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", Stats())
    added(store)
    digest = added(store)
    monkeypatch.setattr("qnnbuild.engine.store.copy_and_digest", None)
    store.copy(digest, tmp_path / "copy")

    assert (tmp_path / "copy").read_bytes() == b"some bytes"


def test_what_was_there_and_is_made_again_is_digested(tmp_path, monkeypatch):
    """Another process has put it there, whenever that was."""
    added(Store(tmp_path / "store", Stats()))
    store = Store(tmp_path / "store", Stats())
    digest = added(store)
    monkeypatch.setattr("qnnbuild.engine.store.copy_and_digest", None)

    with pytest.raises(TypeError, match="not callable"):
        store.copy(digest, tmp_path / "copy")


@pytest.mark.parametrize("known", [None, digest_bytes(b"some bytes")])
def test_what_is_new_counts_as_new(tmp_path, known):
    """Its own times may be of long ago, and a collection of garbage goes by them."""
    store = Store(tmp_path / "store", Stats())
    with store.private() as folder:
        (folder / "file").write_bytes(b"some bytes")
        os.utime(folder / "file", (0, 0))
        digest, size = store.add(folder / "file", known)

    assert (digest, size) == (digest_bytes(b"some bytes"), 10)
    assert store.path(digest).stat().st_mtime > time.time() - 3600


def test_what_is_known_is_not_digested(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", Stats())
    monkeypatch.setattr("qnnbuild.engine.store.digest_file", None)
    with store.private() as folder:
        (folder / "file").write_bytes(b"some bytes")

        assert store.add(folder / "file", "0" * 64) == ("0" * 64, 10)


@pytest.mark.parametrize("large", [1, 100])
def test_what_does_not_reach_the_disk_is_no_artifact(tmp_path, monkeypatch, large):
    """Large files are on their way there while they are digested."""

    def fails(_):
        raise OSError(errno.EIO, "Input/output error")

    store = Store(tmp_path / "store", Stats())
    monkeypatch.setattr("qnnbuild.engine.store.LARGE", large)
    with monkeypatch.context() as disk:
        disk.setattr("qnnbuild.engine.to_disk.sync", fails)
        with pytest.raises(OSError, match="Input/output error"):
            added(store)

        assert not store.path(digest_bytes(b"some bytes")).exists()
    assert store.path(added(store)).read_bytes() == b"some bytes"


def test_what_is_there_already_need_not_reach_the_disk_once_more(tmp_path, monkeypatch):
    """Its file is on its way there, and nobody waits for it."""
    store = Store(tmp_path / "store", Stats())
    monkeypatch.setattr("qnnbuild.engine.store.LARGE", 1)
    digest = added(store)
    may_end = threading.Event()
    monkeypatch.setattr("qnnbuild.engine.to_disk.sync", lambda _: may_end.wait(60))
    again = added(store)
    waited = may_end.is_set()
    may_end.set()

    assert (again, waited) == (digest, False)


def test_without_a_thread_for_it_what_is_large_is_synced_where_it_lies(tmp_path, monkeypatch):
    """There are no more, or Python ends."""

    def no_more(_):
        raise RuntimeError("can't start new thread")

    synced: list[int] = []
    store = Store(tmp_path / "store", Stats())
    monkeypatch.setattr("qnnbuild.engine.store.LARGE", 1)
    monkeypatch.setattr(threading.Thread, "start", no_more)
    monkeypatch.setattr("qnnbuild.engine.to_disk.sync", synced.append)

    assert store.path(added(store)).read_bytes() == b"some bytes"
    assert len(synced) == 1
