"""A builder with a remote cache: what is taken, what is shared, what is never asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from qnnbuild.engine.state import Current
from qnnbuild.errors import Problem
from qnnbuild.remote.cache import Trouble
from tests.unit.engine.fake_world import (
    BUNDLE,
    CHAIN,
    CONTEXT,
    CONVERT,
    FETCH,
    FakeWorld,
    action,
    make_all,
    ran,
    runner_of,
    text_of,
)
from tests.unit.remote.fake_cache import FakeCache, using

SHIPPED = "bundle/m(context/m(convert/m(fetch/m(a))+b))"
LATER = action("later/m", "context/m")


@pytest.fixture
def there(world: FakeWorld, tmp_path_factory: pytest.TempPathFactory) -> FakeWorld:
    other = FakeWorld(tmp_path_factory.mktemp("there"))
    other.write(a_txt="a", b_txt="b")
    return other


@pytest.fixture
def cache(there: FakeWorld) -> FakeCache:
    """Another machine has built the chain and shared it."""
    cache = FakeCache()
    builder = there.open(*CHAIN, remote=using(cache, writes=True))
    make_all(builder)
    builder.finish()
    there.close()
    cache.asked.clear()
    return cache


def kept(world: FakeWorld) -> int:
    """How many artifacts the store has."""
    folder = world.root / ".qnnbuild" / "artifacts"
    return sum(1 for path in folder.rglob("*") if path.is_file())


# --- taking ----------------------------------------------------------------------------------


def test_what_another_machine_made_is_not_made_again(world, cache):
    builder = world.open(*CHAIN, remote=using(cache))
    hows = make_all(builder)
    builder.finish()

    assert set(hows.values()) == {"fetched"}
    assert ran(builder) == []
    assert (world.root / "build/m/SM8750/o.txt").read_text() == SHIPPED


def test_only_what_lands_is_fetched(world, cache):
    make_all(world.open(*CHAIN, remote=using(cache)))

    assert cache.asked == [*["result"] * 4, "fetch"]
    assert kept(world) == 1


def test_a_second_build_asks_nobody(world, cache):
    make_all(world.open(*CHAIN, remote=using(cache)))
    cache.asked.clear()
    builder = world.open(*CHAIN, remote=using(cache))

    assert make_all(builder) == {}
    assert cache.asked == []


def test_the_record_is_the_other_machine_s_with_the_name_of_here(world, cache):
    builder = world.open(action("fetch/m", "a.txt"), remote=using(cache))
    outcome = builder.make("fetch/m")

    assert outcome.record.warnings == ("mind this",)
    assert (outcome.record.seconds, outcome.saved_s) == (2.5, 2.5)


def test_what_an_action_takes_is_fetched_when_it_runs(world, cache):
    builder = world.open(*CHAIN, LATER, remote=using(cache))
    make_all(builder)

    assert ran(builder) == ["later/m"]
    assert text_of(builder, "later/m") == "later/m(context/m(convert/m(fetch/m(a))+b))"


def test_what_is_gone_from_the_cache_is_made_here(world, cache):
    told: list[Problem] = []
    make_all(world.open(FETCH, CONVERT, CONTEXT, remote=using(cache)))
    cache.contents.clear()
    builder = world.open(*CHAIN, LATER, remote=using(cache, told))
    make_all(builder)

    assert ran(builder) == ["fetch/m", "convert/m", "context/m", "bundle/m", "later/m"]
    assert (world.root / "build/m/SM8750/o.txt").read_text() == SHIPPED
    assert told == []  # a cache may forget


def test_what_is_gone_and_comes_out_differently_changes_what_stands_on_it(world, cache):
    make_all(world.open(FETCH, CONVERT, CONTEXT, remote=using(cache)))
    cache.contents.clear()
    builder = world.open(FETCH, CONVERT, CONTEXT, LATER, remote=using(cache))
    runner_of(builder).makes["context/m"] = str.upper
    make_all(builder)

    assert text_of(builder, "later/m") == "later/m(CONTEXT/M(CONVERT/M(FETCH/M(A))+B))"


def test_without_the_cache_what_only_it_has_is_made_here(world, cache):
    make_all(world.open(*CHAIN, remote=using(cache)))
    builder = world.open(*CHAIN)
    make_all(builder)

    assert ran(builder) == ["fetch/m", "convert/m", "context/m"]


def test_what_the_store_lost_comes_from_the_cache(world, cache):
    builder = world.open(*CHAIN, remote=using(cache))
    make_all(builder)
    for path in (world.root / ".qnnbuild" / "artifacts").rglob("*"):
        if path.is_file():
            path.unlink()
    (world.root / "build/m/SM8750/o.txt").unlink()
    builder = world.open(*CHAIN, remote=using(cache))
    make_all(builder)

    assert ran(builder) == []
    assert (world.root / "build/m/SM8750/o.txt").read_text() == SHIPPED


def test_force_and_forget_ask_nobody(world, cache):
    builder = world.open(FETCH, CONVERT, remote=using(cache))
    builder.make("fetch/m", force=True)
    builder.forget(["convert/m"])
    builder.make("convert/m")

    assert cache.asked == []
    assert ran(builder) == ["fetch/m", "convert/m"]


def test_a_file_is_read_wherever_it_is(world, cache):
    builder = world.open(*CHAIN, remote=using(cache))
    make_all(builder)

    assert builder.read("convert/m", "o", "o.txt") == b"convert/m(fetch/m(a))"


def test_what_build_has_already_is_not_fetched(world, cache):
    make_all(world.open(*CHAIN, remote=using(cache)))
    shutil.rmtree(world.root / ".qnnbuild")
    cache.asked.clear()
    builder = world.open(*CHAIN, remote=using(cache))
    hows = make_all(builder)
    builder.finish()

    assert set(hows.values()) == {"fetched"}
    assert cache.asked == ["result"] * 4


def test_two_builds_of_one_store_ask_once(world, cache):
    second = world.open(*CHAIN, remote=using(cache))  # begins before the first has asked
    make_all(world.open(*CHAIN, remote=using(cache)))
    cache.asked.clear()
    outcomes = [second.make(one.name).how for one in CHAIN]

    assert outcomes == ["reused"] * 4
    assert cache.asked == []


def test_what_several_threads_want_is_fetched_once(world, cache):
    builder = world.open(*CHAIN, remote=using(cache))
    make_all(builder)
    cache.asked.clear()
    files = list(builder.record("convert/m").outputs["o"].files.values())
    with ThreadPoolExecutor(8) as pool:
        brought = [pool.submit(builder.remote.bring, files) for _ in range(8)]

    assert all(done.result() for done in brought)
    assert cache.asked == ["fetch"]


# --- troubles --------------------------------------------------------------------------------


def test_a_cache_in_trouble_is_told_once_and_left_alone(world, cache):
    told: list[Problem] = []
    cache.fails = Trouble("it cannot be reached")
    builder = world.open(*CHAIN, remote=using(cache, told, writes=True))
    make_all(builder)
    builder.finish()

    assert ran(builder) == [one.name for one in CHAIN]
    assert [problem.message for problem in told] == [
        "the remote cache is not used any more: it cannot be reached"
    ]
    assert cache.asked == ["result"]


def test_a_cache_that_fails_later_does_not_make_what_nobody_needs(world, cache):
    make_all(world.open(*CHAIN, remote=using(cache)))
    cache.fails = Trouble("it cannot be reached")
    builder = world.open(*CHAIN, action("other/m", "a.txt"), remote=using(cache))
    make_all(builder)

    assert ran(builder) == ["other/m"]


LIES: dict[str, Callable[[bytes], bytes]] = {
    "a bit flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "too short": lambda data: data[:-1],
    "too long": lambda data: data + b"!",
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("lie", LIES)
def test_wrong_bytes_never_enter_the_store(world, cache, lie):
    told: list[Problem] = []
    cache.changes = LIES[lie]
    builder = world.open(*CHAIN, remote=using(cache, told))
    make_all(builder)

    assert (world.root / "build/m/SM8750/o.txt").read_text() == SHIPPED
    assert kept(world) == 4
    assert len(told) == 1
    assert told[0].message.startswith("the remote cache is wrong about what is needed: it sent ")


# --- sharing ---------------------------------------------------------------------------------


def test_in_read_mode_nothing_is_shared(world):
    cache = FakeCache()
    builder = world.open(FETCH, remote=using(cache))
    make_all(builder)
    builder.finish()

    assert cache.asked == ["result"]


def test_the_result_comes_after_all_that_it_promises(world):
    cache = FakeCache()
    builder = world.open(FETCH, remote=using(cache, writes=True))
    make_all(builder)
    builder.finish()

    assert cache.asked == ["result", "missing", "upload", "put result"]


def test_a_damaged_artifact_is_not_shared(world):
    cache = FakeCache()
    builder = world.open(FETCH, BUNDLE, CONVERT, CONTEXT, remote=using(cache, writes=True))
    record = builder.make("fetch/m").record
    builder.finish()
    ((digest, _),) = record.outputs["o"].files.values()
    builder.store.path(digest).unlink()
    cache.asked.clear()
    builder.remote.share(record)
    builder.finish()

    assert cache.asked == []


def test_troubles_of_an_upload_are_told_and_the_build_is_whole(world):
    told: list[Problem] = []
    cache = FakeCache()
    builder = world.open(FETCH, remote=using(cache, told, writes=True))
    runner_of(builder).does["fetch/m"] = lambda: setattr(cache, "fails", Trouble("it is full"))
    make_all(builder)
    builder.finish()

    assert isinstance(builder.state("fetch/m"), Current)
    assert [problem.message for problem in told] == [
        "the remote cache is not used any more: it is full"
    ]


def test_what_is_on_its_way_ends_when_the_build_is_stopped(world):
    told: list[Problem] = []
    cache = FakeCache()
    builder = world.open(FETCH, remote=using(cache, told, writes=True))
    cache.before_upload = builder.cancel
    make_all(builder)
    builder.finish()

    assert cache.asked == ["result", "missing", "upload"]
    assert told == []
