from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.build_time import NoRoom
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.room import HINT, Room, foreseen
from qnnbuild.errors import StoreError
from qnnbuild.model.limits import Limits
from tests.unit.engine.fake_world import CHAIN, FETCH, artifact, make_all, ran, runner_of

LARGE = 100_000


def disk(free: int, files: int = 1000) -> os.statvfs_result:
    """Blocks of one byte."""
    return os.statvfs_result((1, 1, free, free, free, files, files, files, 0, 255))


@pytest.fixture
def built(world) -> Any:
    """Each action has made something large, and the first source is another one now."""
    first = world.open(*CHAIN)
    for action in CHAIN:
        runner_of(first).makes[action.name] = lambda text: text.ljust(LARGE)
    make_all(first)
    first.finish()
    world.write(a_txt="other")
    return world


def opened(world, free: int, limits: Limits | None = None, files: int = 1000) -> Builder:
    builder: Builder = world.open(*CHAIN)
    room = Room(builder.store, builder.folder.root, limits or Limits(), lambda _: disk(free, files))
    builder.room = room
    room.expect(builder.plan.actions)
    return builder


def test_too_little_room_for_the_build_is_told_before_anything_runs(built):
    builder = opened(built, 4 * LARGE)
    with pytest.raises(NoRoom) as caught:
        builder.make("fetch/m")

    (problem,) = caught.value.problems
    assert problem.message == "the store's disk has too little room; nothing was started"
    assert problem.facts == (
        ("needed", "about 500 kB"),  # four outputs, and for a while the input of one
        ("free", "400 kB"),
        ("folder", str(builder.store.root)),
        ("known from", "the last runs of 4 of 4 actions"),
    )
    assert problem.hint == HINT
    assert ran(builder) == []


def test_it_is_the_same_error_for_all_actions(built):
    builder = opened(built, 0)
    caught = []
    for _ in range(2):
        with pytest.raises(NoRoom) as one:
            builder.make("fetch/m")
        caught.append(one.value)

    assert caught[0] is caught[1]


def test_enough_room_builds(built):
    builder = opened(built, 6 * LARGE)

    assert make_all(builder) == dict.fromkeys([a.name for a in CHAIN], "made")


def test_what_is_current_needs_no_room(built):
    built.write(a_txt="a")  # as it was built
    builder = opened(built, 0)

    assert make_all(builder) == {}


def test_what_another_version_may_make_again_needs_no_room_for_what_is_there(built):
    """All keys are others, no source is: the store has it all, but for one file."""
    built.write(a_txt="a")
    path = artifact(built.open(*CHAIN), "convert/m")
    builder = built.open(*CHAIN)
    builder.identity.tool = {"code:fake": "2"}
    size = path.stat().st_size
    path.unlink()

    assert foreseen(builder.plan.actions, builder, builder.folder.root).stored == size


def test_what_is_not_in_build_yet_needs_room_there_too(built):
    builder = opened(built, int(5.5 * LARGE))
    (builder.folder.root / "m" / "SM8750" / "o.txt").unlink()
    with pytest.raises(NoRoom) as caught:
        builder.make("fetch/m")

    assert caught.value.problems[0].facts[0] == ("needed", "about 600 kB")


def test_what_never_ran_counts_as_nothing_and_is_told(world):
    make_all(world.open(FETCH))
    world.write(a_txt="other")
    builder = opened(world, 0, Limits(free_disk=7))
    with pytest.raises(NoRoom) as caught:
        builder.make("fetch/m")

    assert dict(caught.value.problems[0].facts)["known from"] == (
        "the last runs of 1 of 4 actions; the others count as nothing"
    )


def test_a_floor_stays_free(built):
    builder = opened(built, 6 * LARGE, Limits(free_disk=2 * LARGE))
    with pytest.raises(NoRoom) as caught:
        builder.make("fetch/m")

    assert caught.value.problems[0].facts[0] == (
        "needed",
        "about 500 kB, and 200 kB that stay free",
    )


def test_a_disk_can_run_out_of_files(built):
    builder = opened(built, 9 * LARGE, files=19)
    with pytest.raises(NoRoom) as caught:
        builder.make("fetch/m")

    assert caught.value.problems[0].facts[:2] == (
        ("needed", "about 20 files"),
        ("free", "19 files"),
    )


def test_a_disk_that_makes_inodes_as_it_goes_has_enough(built):
    builder = opened(built, 9 * LARGE, files=0)

    assert builder.make("fetch/m").how == "made"


def test_copies_count_as_nothing_where_they_take_no_room(built, monkeypatch):
    builder = opened(built, int(4.1 * LARGE))
    monkeypatch.setattr(builder.room, "_clones", lambda: True)

    assert builder.make("fetch/m").how == "made"


def test_an_action_that_has_no_room_by_itself_does_not_start(world):
    world.write(a_txt="a" * LARGE)
    builder = opened(world, LARGE // 2)
    with pytest.raises(StoreError) as caught:
        builder.make("fetch/m")

    (problem,) = caught.value.problems
    assert problem.message == "fetch/m does not start: the store's disk has too little room"
    assert problem.facts[:2] == (("needed", "about 100 kB"), ("free", "50 kB"))
    assert not isinstance(caught.value, NoRoom)
    assert ran(builder) == []


def test_nobody_looks_when_it_is_off(built):
    builder = opened(built, 0, Limits(watches_disk=False))

    assert builder.make("fetch/m").how == "made"


def test_a_part_of_the_plan_needs_the_room_of_a_part(built):
    builder = opened(built, 2 * LARGE)
    builder.room.expect(["fetch/m"])

    assert builder.make("fetch/m").how == "made"


def test_build_can_lie_on_another_disk(built, monkeypatch):
    builder = opened(built, 9 * LARGE)
    there = builder.folder.root
    (there / "m" / "SM8750" / "o.txt").unlink()
    disks = {there: disk(LARGE // 2)}
    builder.room.statvfs = lambda path: disks.get(path, disk(9 * LARGE))
    real = os.stat

    def stat(path: Path, *args: Any, **more: Any) -> os.stat_result:
        found = real(path, *args, **more)
        return os.stat_result((*found[:2], -1, *found[3:])) if path == there else found

    monkeypatch.setattr("qnnbuild.engine.room.os.stat", stat)
    with pytest.raises(NoRoom) as caught:
        builder.make("fetch/m")

    assert caught.value.problems[0].message == (
        "the disk of build/ has too little room; nothing was started"
    )
    assert caught.value.problems[0].facts[0] == ("needed", "about 100 kB")
