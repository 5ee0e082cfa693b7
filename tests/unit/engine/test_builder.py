from __future__ import annotations

import os
import threading
from dataclasses import replace

import pytest

from qnnbuild.engine.inputs import Changed
from qnnbuild.engine.state import Current, Waits
from qnnbuild.errors import RecipeError, StoreError
from tests.unit.engine.fake_world import CHAIN, FETCH, make_all, ran, reasons, runner_of, text_of

# --- deciding --------------------------------------------------------------------------------


def test_what_was_never_built_is_stale_and_what_needs_it_waits(world):
    builder = world.open(*CHAIN)

    assert reasons(builder.state("fetch/m")) == ("never built",)
    assert builder.state("convert/m") == Waits(on=("fetch/m",))
    assert builder.state("context/m") == Waits(on=("convert/m",))
    assert ran(builder) == []


def test_what_was_made_is_current_and_the_next_one_is_known(world):
    builder = world.open(*CHAIN)
    outcome = builder.make("fetch/m")

    assert builder.state("fetch/m") == Current(record=outcome.record)
    assert reasons(builder.state("convert/m")) == ("never built",)


def test_a_build_makes_everything_once_and_the_next_nothing(world):
    first = world.open(*CHAIN)
    hows = make_all(first)
    first.finish()
    second = world.open(*CHAIN)

    assert hows == dict.fromkeys(("fetch/m", "convert/m", "context/m", "bundle/m"), "made")
    assert make_all(second) == {}
    assert text_of(second, "bundle/m") == "bundle/m(context/m(convert/m(fetch/m(a))+b))"


def test_the_record_says_what_the_run_took_and_made(world):
    builder = world.open(FETCH)
    outcome = builder.make("fetch/m")
    record = outcome.record

    assert (outcome.how, outcome.seconds, outcome.saved_s) == ("made", 2.5, 0.0)
    assert (record.name, record.step, record.key) == ("fetch/m", "fetch", outcome.record.key)
    assert (record.warnings, record.seconds, record.peak_bytes) == (("mind this",), 2.5, 7)
    assert record.parts == builder.parts("fetch/m")
    assert builder.records.get(record.key) == record


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"params": {"salt": "fetch/m", "more": 1}}, "more changed: nothing → 1"),
        ({"env": {"LANG": "C"}}, "the variable LANG changed: nothing → C"),
        ({"step": "export"}, "step changed: fetch → export"),
    ],
)
def test_a_change_of_an_action_is_told(world, change, reason):
    make_all(world.open(FETCH))
    builder = world.open(replace(FETCH, **change))

    assert reasons(builder.state("fetch/m")) == (reason,)


def test_a_change_of_a_source_is_told_with_its_digests(world):
    make_all(world.open(FETCH))
    world.write(a_txt="other")
    (told,) = reasons(world.open(FETCH).state("fetch/m"))

    assert told.startswith("a file of a.txt changed: ")


def test_a_change_of_a_tool_is_told(world):
    make_all(world.open(FETCH))
    builder = world.open(FETCH)
    builder.identity.tool["package:onnx"] = "2"

    assert reasons(builder.state("fetch/m")) == ("the package onnx changed: nothing → 2",)


def test_a_touch_changes_nothing(world):
    make_all(world.open(*CHAIN))
    os.utime(world.root / "a.txt")

    assert make_all(world.open(*CHAIN)) == {}


def test_a_record_that_is_gone_is_told(world):
    builder = world.open(FETCH)
    outcome = builder.make("fetch/m")
    builder.records.drop(outcome.record.key)

    assert reasons(world.open(FETCH).state("fetch/m")) == (
        "its last record is gone from the store",
    )


def test_a_source_that_is_missing_is_told_when_it_is_asked_for(world):
    (world.root / "a.txt").unlink()
    builder = world.open(*CHAIN)
    with pytest.raises(RecipeError, match=r"no such file: a\.txt"):
        builder.state("convert/m")


def test_what_is_needed_is_made_where_it_is_not_there(world):
    builder = world.open(*CHAIN)
    builder.make("convert/m")

    assert ran(builder) == ["fetch/m", "convert/m"]


# --- cutting off and going back --------------------------------------------------------------


def test_what_runs_and_makes_the_same_cuts_off_what_needs_it(world):
    make_all(world.open(*CHAIN))
    world.write(a_txt="another a")
    builder = world.open(*CHAIN)
    runner_of(builder).makes["fetch/m"] = lambda _: "fetch/m(a)"
    hows = make_all(builder)

    assert hows == {"fetch/m": "cut off"}
    assert ran(builder) == ["fetch/m"]


def test_going_back_to_an_old_source_runs_nothing(world):
    make_all(world.open(*CHAIN))
    world.write(a_txt="new")
    make_all(world.open(*CHAIN))
    world.write(a_txt="a")
    builder = world.open(*CHAIN)
    hows = make_all(builder)

    assert hows == {"bundle/m": "restored"}  # build/ has the other bundle
    assert ran(builder) == []
    assert (world.root / "build/m/SM8750/o.txt").read_text() == text_of(builder, "bundle/m")


def test_going_back_is_kept_for_the_next_reason(world):
    make_all(world.open(FETCH))
    world.write(a_txt="new")
    make_all(world.open(FETCH))
    world.write(a_txt="a")
    back = world.open(FETCH)
    before = back.parts("fetch/m")
    back.state("fetch/m")
    back.finish()

    assert back.records.last() == {"fetch/m": back.record("fetch/m").key}
    assert world.open(FETCH).records.get(back.record("fetch/m").key).parts == before


def test_only_what_a_changed_source_reaches_runs(world):
    make_all(world.open(*CHAIN))
    world.write(b_txt="new")
    builder = world.open(*CHAIN)
    make_all(builder)

    assert ran(builder) == ["context/m", "bundle/m"]


# --- one work, two names ---------------------------------------------------------------------


def test_one_key_of_two_names_runs_once(world):
    two = (FETCH, replace(FETCH, name="fetch/n"))
    builder = world.open(*two)
    hows = [builder.make(one.name).how for one in two]

    assert hows == ["made", "reused"]
    assert ran(builder) == ["fetch/m"]


def test_one_key_of_two_names_asked_for_at_once_runs_once(world):
    two = (FETCH, replace(FETCH, name="fetch/n"))
    builder = world.open(*two)
    both_ask = threading.Barrier(2)
    hows: list[str] = []

    def ask(name: str) -> None:
        both_ask.wait(10)
        hows.append(builder.make(name).how)

    threads = [threading.Thread(target=ask, args=(one.name,)) for one in two]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(hows) == ["made", "reused"]
    assert len(ran(builder)) == 1


def test_two_builds_on_one_store_run_one_key_once(world):
    one, two = world.open(FETCH), world.open(FETCH)
    inside = threading.Event()
    go_on = threading.Event()

    def wait() -> None:
        inside.set()
        go_on.wait(10)

    runner_of(one).does["fetch/m"] = wait
    first = threading.Thread(target=one.make, args=("fetch/m",))
    first.start()
    inside.wait(10)
    hows: list[str] = []
    second = threading.Thread(target=lambda: hows.append(two.make("fetch/m").how))
    second.start()
    second.join(0.1)
    go_on.set()
    first.join(60)
    second.join(60)

    assert hows == ["reused"]
    assert (ran(one), ran(two)) == (["fetch/m"], [])


def test_reuse_tells_the_time_that_it_saved(world):
    builder = world.open(FETCH, replace(FETCH, name="fetch/n"))
    builder.make("fetch/m")
    outcome = builder.make("fetch/n")

    assert (outcome.how, outcome.seconds, outcome.saved_s) == ("reused", 0.0, 2.5)


# --- force and forget ------------------------------------------------------------------------


def test_force_runs_what_is_current(world):
    builder = world.open(FETCH)
    builder.make("fetch/m")

    assert builder.make("fetch/m", force=True).how == "cut off"
    assert ran(builder) == ["fetch/m", "fetch/m"]


def test_what_was_forgotten_runs_again_once(world):
    make_all(world.open(*CHAIN))
    world.open(*CHAIN).forget(["convert/m"])
    builder = world.open(*CHAIN)
    told = reasons(builder.state("convert/m"))
    waits = builder.state("context/m")
    hows = make_all(builder)

    assert told == ("it was forgotten: doit forget",)
    assert waits == Waits(on=("convert/m",))
    assert hows == {"convert/m": "cut off"}
    assert make_all(world.open(*CHAIN)) == {}


def test_what_is_forgotten_in_a_build_is_stale_in_it(world):
    builder = world.open(*CHAIN)
    make_all(builder)
    builder.forget(["fetch/m"])

    assert reasons(builder.state("fetch/m")) == ("it was forgotten: doit forget",)
    assert builder.state("convert/m") == Waits(on=("fetch/m",))


def test_inputs_that_stay_away_are_told_as_whoever_misses_them_says_it(world):
    world.write(a_txt="1")
    builder = world.open(FETCH)

    def misses() -> None:
        raise Changed(StoreError("a worker cannot have it"))

    runner_of(builder).does["fetch/m"] = misses

    with pytest.raises(StoreError, match="a worker cannot have it"):
        builder.make("fetch/m")
    assert ran(builder) == ["fetch/m"] * 3
