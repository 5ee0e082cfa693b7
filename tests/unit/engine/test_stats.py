from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from qnnbuild.digest import digest_bytes, digest_file
from qnnbuild.engine.signature import RACY_NS, Signature
from qnnbuild.engine.stats import Known, Stats

OLD_NS = 1_600_000_000_000_000_000


class Kept:
    """What was learned before, and what was asked of it."""

    def __init__(self, known: Mapping[str, Known]) -> None:
        self.known = known
        self.asked: list[str] = []

    def stat(self, path: str) -> Known | None:
        self.asked.append(path)
        return self.known.get(path)

    def stats(self) -> Mapping[str, Known]:
        self.asked.append("all")
        return self.known


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    return path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock says a minute more than the files do, so that no time is racy."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 60_000_000_000)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read."""
    read: list[str] = []

    def counting(path: Path) -> str:
        read.append(path.name)
        return digest_file(path)

    monkeypatch.setattr("qnnbuild.engine.stats.digest_file", counting)
    return read


def test_a_file_that_is_not_there_has_no_digest(tmp_path):
    assert Stats().digest(tmp_path / "none") is None
    assert Stats().digest(tmp_path / "none" / "deeper") is None


def test_below_a_file_there_is_nothing(file):
    assert Stats().digest(file / "deeper") is None


def test_a_folder_and_a_pipe_have_no_digest(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    assert Stats().digest(tmp_path) is None
    assert Stats().digest(tmp_path / "pipe") is None


def test_a_file_is_read_once(file, later, reads):
    stats = Stats()
    first, second = stats.digest(file), stats.digest(file)

    assert first == second == digest_bytes(b"one")
    assert reads == ["a"]


def test_what_was_learned_is_enough_for_the_next_run(file, later, reads):
    stats = Stats()
    stats.digest(file)
    again = Stats(Kept(stats.news()))

    assert again.digest(file) == digest_bytes(b"one")
    assert reads == ["a"]
    assert again.news() == {}


def test_what_is_kept_is_asked_for_file_by_file_and_of_many_at_once(
    tmp_path, later, reads, monkeypatch
):
    monkeypatch.setattr("qnnbuild.engine.stats.FEW", 2)
    files = [tmp_path / name for name in "abcd"]
    for path in files:
        path.write_bytes(path.name.encode())
    first = Stats()
    digests = [first.digest(path) for path in files]
    kept = Kept(first.news())
    stats = Stats(kept)
    reads.clear()
    found = [stats.digest(path) for path in [*files, *files]]

    assert found == [*digests, *digests]
    assert kept.asked == [str(files[0]), str(files[1]), "all"]
    assert (reads, stats.news()) == ([], {})


def test_a_name_that_is_no_text_is_kept_nowhere(tmp_path, later):
    kept = Kept({})
    path = tmp_path / os.fsdecode(b"\xff")
    path.write_bytes(b"one")

    assert Stats(kept).digest(path) == digest_bytes(b"one")
    assert kept.asked == []


def test_news_are_told_once(file, later):
    stats = Stats()
    stats.digest(file)

    assert stats.news() == {str(file): (Signature.of(file), digest_bytes(b"one"))}
    assert stats.news() == {}


def test_a_file_that_changed_just_now_is_read_again_next_time(file, reads):
    stats = Stats()
    stats.digest(file)
    stats.digest(file)

    assert reads == ["a", "a"]
    assert stats.news() == {}


def test_two_writes_within_a_tick_of_the_clock_are_two_contents(tmp_path):
    stats = Stats()
    path = tmp_path / "a"
    found = []
    for n in range(50):
        path.write_bytes(b"%02d" % n)
        found.append(stats.digest(path))

    assert found == [digest_bytes(b"%02d" % n) for n in range(50)]


@pytest.mark.parametrize(("age_ns", "kept"), [(RACY_NS, False), (RACY_NS + 1, True)])
def test_a_file_is_settled_when_it_is_older_than_the_clocks_tick(file, monkeypatch, age_ns, kept):
    signature = Signature.of(file)
    assert signature is not None
    changed = max(signature.mtime_ns, signature.ctime_ns)
    monkeypatch.setattr(time, "time_ns", lambda: changed + age_ns)
    stats = Stats()
    stats.digest(file)

    assert bool(stats.news()) == kept


def test_a_file_from_the_future_is_read_each_time(file, reads):
    os.utime(file, ns=(2 * time.time_ns(),) * 2)
    stats = Stats()
    stats.digest(file)
    stats.digest(file)

    assert reads == ["a", "a"]


def test_other_content_of_the_same_size_with_the_time_set_back_is_seen(file, later):
    os.utime(file, ns=(OLD_NS, OLD_NS))
    stats = Stats()
    stats.digest(file)
    file.write_bytes(b"two")
    os.utime(file, ns=(OLD_NS, OLD_NS))

    assert stats.digest(file) == digest_bytes(b"two")


def test_another_file_moved_into_its_place_is_seen(file, tmp_path, later):
    os.utime(file, ns=(OLD_NS, OLD_NS))
    stats = Stats()
    stats.digest(file)
    other = tmp_path / "b"
    other.write_bytes(b"two")
    os.utime(other, ns=(OLD_NS, OLD_NS))
    other.replace(file)

    assert stats.digest(file) == digest_bytes(b"two")


def test_a_touch_reads_the_file_again_and_finds_the_same(file, later, reads):
    stats = Stats()
    before = stats.digest(file)
    os.utime(file, ns=(OLD_NS, OLD_NS))

    assert stats.digest(file) == before
    assert reads == ["a", "a"]


def test_a_file_that_changes_while_it_is_read_is_not_remembered(file, later, monkeypatch):
    def slow(path: Path) -> str:
        digest = digest_file(path)
        path.write_bytes(b"another")
        return digest

    monkeypatch.setattr("qnnbuild.engine.stats.digest_file", slow)
    stats = Stats()
    stats.digest(file)

    assert stats.news() == {}


def test_what_this_process_has_put_there_is_not_read(file, reads):
    stats = Stats()
    stats.know(file, digest_bytes(b"one"))

    assert stats.digest(file) == digest_bytes(b"one")
    assert reads == []


def test_what_is_not_there_is_not_known(tmp_path):
    stats = Stats()
    stats.know(tmp_path / "none", digest_bytes(b"one"))

    assert stats.news() == {}


def test_a_file_whose_name_is_no_text_is_read_each_time(tmp_path, later, reads):
    odd = tmp_path / os.fsdecode(b"\xff")
    odd.write_bytes(b"one")
    stats = Stats()

    assert [stats.digest(odd), stats.digest(odd)] == [digest_bytes(b"one")] * 2
    assert stats.news() == {}
