from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.engine.signature import Signature
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store, copy_file, on_disk, place, remove
from qnnbuild.errors import StoreError

DATA = b"what a compiler made"
DIGEST = digest_bytes(DATA)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", Stats())


def add(store: Store, data: bytes = DATA) -> tuple[str, int]:
    with store.private() as folder:
        (folder / "made").write_bytes(data)
        return store.add(folder / "made")


def test_an_artifact_is_named_by_its_digest_and_read_only(store):
    assert add(store) == (DIGEST, len(DATA))
    path = store.path(DIGEST)

    assert path == store.root / "artifacts" / DIGEST[:2] / DIGEST
    assert path.read_bytes() == DATA
    assert path.stat().st_mode & 0o777 == 0o444
    assert store.whole(DIGEST, len(DATA))


def test_a_log_is_named_by_the_key(store):
    assert store.log("ab" + "0" * 62) == store.root / "logs" / "ab" / f"ab{'0' * 62}.log"


def test_the_same_content_twice_is_there_once(store):
    add(store)
    before = store.path(DIGEST).stat().st_ino
    add(store)

    assert store.path(DIGEST).stat().st_ino == before
    assert [p.name for p in store.path(DIGEST).parent.iterdir()] == [DIGEST]


def test_what_a_tool_made_unreadable_is_taken_all_the_same(store):
    with store.private() as folder:
        (folder / "made").write_bytes(DATA)
        (folder / "made").chmod(0)
        store.add(folder / "made")

    assert store.path(DIGEST).stat().st_mode & 0o777 == 0o444


def test_an_artifact_that_is_not_there_is_not_whole(store):
    assert not store.whole(DIGEST, len(DATA))


def cut(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(DATA[:-1])


def flip_and_set_the_time_back(path: Path) -> None:
    was = path.stat()
    path.chmod(0o644)
    path.write_bytes(bytes([DATA[0] ^ 1]) + DATA[1:])
    path.chmod(0o444)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inner").write_bytes(b"")


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nothing")


def link_to_the_same(path: Path) -> None:
    mine = path.parents[3] / "mine"
    path.rename(mine)
    path.symlink_to(mine)


def pipe_instead(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip_and_set_the_time_back,
        folder_instead,
        link_to_nothing,
        link_to_the_same,
        pipe_instead,
    ],
)
def test_a_damaged_artifact_is_dropped_and_can_be_added_again(
    store: Store, damage: Callable[[Path], None]
) -> None:
    add(store)
    damage(store.path(DIGEST))
    seen = store.whole(DIGEST, len(DATA))

    assert not seen
    assert not os.path.lexists(store.path(DIGEST))
    assert add(store) == (DIGEST, len(DATA))
    assert store.path(DIGEST).read_bytes() == DATA


def test_a_dropped_link_leaves_what_it_led_to(store, tmp_path):
    add(store)
    link_to_the_same(store.path(DIGEST))
    store.whole(DIGEST, len(DATA))

    assert (tmp_path / "mine").read_bytes() == DATA


def test_adding_over_a_damaged_artifact_mends_it(store):
    add(store)
    cut(store.path(DIGEST))
    add(store)

    assert store.path(DIGEST).read_bytes() == DATA


def test_a_copy_is_its_owners_and_can_be_written(store, tmp_path):
    add(store)
    copy = tmp_path / "copy"
    store.copy(DIGEST, copy)
    with copy.open("ab") as file:
        file.write(b" and more")

    assert copy.read_bytes() == DATA + b" and more"
    assert store.path(DIGEST).read_bytes() == DATA
    assert copy.stat().st_nlink == 1


def test_a_copy_does_not_overwrite(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        copy_file(tmp_path / "a", tmp_path / "b")

    assert (tmp_path / "b").read_text() == "b"


def test_a_private_folder_is_empty_and_gone_afterwards(store):
    with store.private() as folder:
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "file").write_text("x")
        (folder / "deep").chmod(0o500)
        inside = sorted(p.name for p in folder.parent.iterdir())

    assert inside == [folder.name, f"{folder.name}.lock"]
    assert list((store.root / "tmp").iterdir()) == []


def test_private_folders_have_paths_of_one_length(store):
    with store.private() as one, store.private() as two:
        assert one != two
        assert len(str(one)) == len(str(two))


def test_a_private_folder_goes_after_an_error_too(store):
    def fail() -> None:
        with store.private() as folder:
            (folder / "file").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert list((store.root / "tmp").iterdir()) == []


def test_a_sweep_removes_what_the_dead_left_and_nothing_of_the_living(store):
    dead = store.root / "tmp" / "dead"
    (dead / "in").mkdir(parents=True)
    (dead / "in" / "file").write_text("x")
    (store.root / "tmp" / "dead.lock").touch()
    (store.root / "tmp" / "early.lock").touch()  # killed before it had made its folder
    with store.private() as living:
        (living / "file").write_text("x")
        Store(store.root, Stats()).sweep()
        left = sorted(p.name for p in (store.root / "tmp").iterdir())

        assert left == [living.name, f"{living.name}.lock"]
        assert (living / "file").read_text() == "x"


def test_a_sweep_removes_locks_of_keys_that_nobody_holds(store):
    (store.root / "locks" / "dead").touch()
    with store.locked("living"):
        store.sweep()

        assert [path.name for path in (store.root / "locks").iterdir()] == ["living"]


def test_a_run_whose_lock_was_swept_before_it_held_it_takes_another(store, monkeypatch):
    real = fcntl.flock
    swept: list[bool] = []

    def sweep_first(file, how):
        if not swept:
            swept.append(True)
            store.sweep()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    with store.private() as folder:
        left = sorted(p.name for p in folder.parent.iterdir())

    assert left == [folder.name, f"{folder.name}.lock"]
    assert list((store.root / "tmp").iterdir()) == []


def test_one_key_is_held_by_one_thread(store):
    order = []
    entered = threading.Event()

    def second() -> None:
        entered.set()
        with store.locked(DIGEST):
            order.append("second")

    thread = threading.Thread(target=second)
    with store.locked(DIGEST):
        thread.start()
        entered.wait()
        thread.join(0.1)
        order.append("first")
    thread.join(10)

    assert order == ["first", "second"]
    assert list((store.root / "locks").iterdir()) == []


def test_many_threads_hold_one_key_one_after_the_other(store):
    inside, most = [], []

    def work() -> None:
        for _ in range(20):
            with store.locked(DIGEST):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert most == [1] * 160
    assert list((store.root / "locks").iterdir()) == []


def test_two_keys_are_held_at_once(store):
    with store.locked("a" * 64), store.locked("b" * 64):
        held = sorted(p.name for p in (store.root / "locks").iterdir())

    assert held == ["a" * 64, "b" * 64]


def test_a_lock_that_a_killed_build_left_is_no_hindrance(store):
    (store.root / "locks" / DIGEST).touch()
    with store.locked(DIGEST):
        pass

    assert list((store.root / "locks").iterdir()) == []


def test_a_store_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        Store(tmp_path / "file", Stats())

    (problem,) = caught.value.problems
    assert problem.message == "the store cannot be used: Not a directory"
    assert problem.facts == (("store", str(tmp_path / "file")),)
    assert problem.hint == "give another folder with QNNBUILD_STORE or `store:` in qnnbuild.yaml"


def test_place_leaves_the_old_file_when_it_cannot_write(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "index.json"
    place(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        place(path, b"new")

    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == ["index.json"]


def test_what_the_disk_refuses_is_told(tmp_path):
    with pytest.raises(StoreError) as caught, on_disk("fetch/m cannot be kept"):
        raise OSError(28, "No space left on device", str(tmp_path / "a"))

    (problem,) = caught.value.problems
    assert problem.message == "fetch/m cannot be kept: No space left on device"
    assert problem.facts == (("file", str(tmp_path / "a")),)


def test_remove_takes_files_links_folders_and_nothing(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("link", "file", "folder", "none"):
        remove(tmp_path / name)

    assert list(tmp_path.iterdir()) == []


def test_read_only_folders_go_and_what_their_links_lead_to_keeps_its_mode(tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    mine.write_text("x")
    mine.chmod(0o640)
    deep = tmp_path / "folder" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    (deep / "link").symlink_to(mine)
    deep.chmod(0o500)
    deep.parent.chmod(0o500)
    real = os.unlink

    def as_no_root(name, *, dir_fd=None):
        if dir_fd is not None and not os.fstat(dir_fd).st_mode & 0o200:
            raise PermissionError(13, "Permission denied", name)
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", as_no_root)
    remove(tmp_path / "folder")

    assert [p.name for p in tmp_path.iterdir()] == ["mine"]
    assert mine.stat().st_mode & 0o777 == 0o640


def test_an_artifact_that_another_build_mended_meanwhile_stays(store, monkeypatch):
    digest, size = add(store)
    other = Store(store.root, Stats())
    store.path(digest).unlink()
    store.path(digest).write_bytes(b"x" * size)  # damaged
    read = store.stats.digest

    def slowly(path: Path, before: Signature | None = None) -> str | None:
        found: str | None = read(path, before)
        assert not other.whole(digest, size)
        add(other)
        return found

    monkeypatch.setattr(store.stats, "digest", slowly)

    assert not store.whole(digest, size)
    assert store.path(digest).read_bytes() == DATA


def test_who_waits_for_a_key_may_stop(store):
    def stop() -> None:
        raise KeyboardInterrupt

    other = Store(store.root, Stats())
    with store.locked(DIGEST), pytest.raises(KeyboardInterrupt), other.locked(DIGEST, stop):
        pass
    with other.locked(DIGEST, stop):
        names = [p.name for p in (store.root / "locks").iterdir()]

    assert names == [DIGEST]
