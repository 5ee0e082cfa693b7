from __future__ import annotations

import pytest

from qnnbuild.engine.leases import Lease, living


def test_a_build_is_seen_while_it_lives(tmp_path):
    lease = Lease.take(tmp_path, "here")
    during = living(tmp_path)
    lease.end()

    assert [build.checkout for build in during] == ["here"]
    assert during[0].began_ns > 0
    assert living(tmp_path) == []
    assert list((tmp_path / "builds").iterdir()) == []


def test_a_store_without_builds_has_none(tmp_path):
    assert living(tmp_path) == []


def test_what_a_dead_build_left_is_removed(tmp_path):
    (tmp_path / "builds").mkdir()
    (tmp_path / "builds" / "dead.lease").write_text('{"checkout": "there", "began_ns": 5}')

    assert living(tmp_path) == []
    assert not (tmp_path / "builds" / "dead.lease").exists()


def test_looking_takes_nothing_from_the_living(tmp_path):
    one, two = Lease.take(tmp_path, "a"), Lease.take(tmp_path, "b")
    seen = [sorted(build.checkout for build in living(tmp_path)) for _ in range(3)]
    one.end()
    last = living(tmp_path)
    two.end()

    assert seen == [["a", "b"]] * 3
    assert [build.checkout for build in last] == ["b"]


@pytest.mark.parametrize("text", ["", "{}", '{"checkout": "a", "began_ns": null}', "[1]", "\xff"])
def test_a_living_build_whose_mark_is_damaged_began_before_everything(tmp_path, text):
    lease = Lease.take(tmp_path, "a")
    lease.path.write_text(text, encoding="latin-1")
    seen = living(tmp_path)
    lease.end()

    assert [build.began_ns for build in seen] == [0]
