"""The builder when files change or go while it works, and when it is stopped."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

import pytest

from qnnbuild.actions.action import Provenance
from qnnbuild.actions.key import key_of
from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.state import Stale
from qnnbuild.errors import StoreError, ToolError
from tests.unit.engine.fake_world import (
    CHAIN,
    FETCH,
    action,
    artifact,
    make_all,
    ran,
    reasons,
    runner_of,
    text_of,
)

# --- damage ----------------------------------------------------------------------------------


def test_a_damaged_artifact_is_made_again_and_cuts_off(world):
    first = world.open(*CHAIN)
    make_all(first)
    path = artifact(first, "convert/m")
    path.chmod(0o644)
    path.write_text("damaged")
    builder = world.open(*CHAIN)
    told = reasons(builder.state("convert/m"))
    hows = make_all(builder)

    assert told == ("the store's copy of o/o.txt is missing or damaged",)
    assert hows == {"convert/m": "cut off"}
    assert path.read_text() == "convert/m(fetch/m(a))"


def test_a_missing_artifact_is_made_again(world):
    first = world.open(*CHAIN)
    make_all(first)
    artifact(first, "bundle/m").unlink()
    builder = world.open(*CHAIN)

    assert make_all(builder) == {"bundle/m": "cut off"}


def test_all_artifacts_that_go_during_the_build_are_made_again(world):
    """What one action takes of several, and what only their papers tell of."""
    pair = action("pair/m", "fetch/m", "convert/m", "context/m", lands="m/pair")
    pair = replace(pair, inputs={**pair.inputs, "provenance": Provenance()})
    builder = world.open(*CHAIN[:3], pair)
    for name in ("fetch/m", "convert/m", "context/m"):
        builder.make(name)
    builder.state("pair/m")
    for name in ("fetch/m", "convert/m", "context/m"):
        artifact(builder, name).unlink()
    ran(builder).clear()
    builder.make("pair/m")

    assert ran(builder) == ["fetch/m", "convert/m", "context/m", "pair/m"]


def test_records_that_go_during_the_build_are_made_again(world):
    builder = world.open(*CHAIN)
    for name in ("fetch/m", "convert/m"):
        builder.records.drop(builder.make(name).record.key)
    builder.make("context/m")

    assert ran(builder) == ["fetch/m", "fetch/m", "convert/m", "convert/m", "context/m"]
    assert text_of(builder, "context/m") == "context/m(convert/m(fetch/m(a))+b)"


def test_an_artifact_that_goes_during_the_build_is_made_again(world):
    builder = world.open(*CHAIN)
    builder.make("fetch/m")
    builder.state("convert/m")
    artifact(builder, "fetch/m").unlink()
    builder.make("convert/m")

    assert ran(builder) == ["fetch/m", "fetch/m", "convert/m"]


def test_a_full_disk_is_told_as_one(world):
    builder = world.open(FETCH)

    def full() -> None:
        raise OSError(28, "No space left on device", "/store/x")

    runner_of(builder).does["fetch/m"] = full
    with pytest.raises(StoreError) as caught:
        builder.make("fetch/m")

    (problem,) = caught.value.problems
    assert problem.message == "fetch/m cannot be kept: No space left on device"
    assert problem.facts == (("file", "/store/x"),)


def test_a_failure_is_no_result(world):
    builder = world.open(*CHAIN)

    def fail() -> None:
        raise ToolError("the compiler says no")

    runner_of(builder).does["fetch/m"] = fail
    with pytest.raises(ToolError):
        builder.make("fetch/m")

    assert reasons(builder.state("fetch/m")) == ("never built",)
    again = world.open(*CHAIN)
    state = again.state("fetch/m")
    assert reasons(state) == ("never built",)
    assert again.failures.told(state.key) == ("it failed the last time: the compiler says no",)


# --- sources that change meanwhile -----------------------------------------------------------


def test_a_source_that_is_edited_before_it_is_copied_is_taken_as_it_is_then(world):
    builder = world.open(FETCH)
    builder.state("fetch/m")
    world.write(a_txt="edited")
    outcome = builder.make("fetch/m")

    assert text_of(builder, outcome) == "fetch/m(edited)"
    assert make_all(world.open(FETCH)) == {}


def test_a_source_that_is_edited_after_it_was_copied_makes_the_action_stale(world):
    builder = world.open(FETCH)
    runner_of(builder).does["fetch/m"] = lambda: world.write(a_txt="edited")
    outcome = builder.make("fetch/m")

    assert text_of(builder, outcome) == "fetch/m(a)"
    assert isinstance(builder.state("fetch/m"), Stale)


def test_a_source_that_changes_all_the_time_is_told(world, monkeypatch):
    builder = world.open(FETCH)
    real = builder.inputs.tree
    edits = iter(range(100))

    def tree(*args):
        found = real(*args)
        world.write(a_txt=f"edit {next(edits)}")
        return found

    monkeypatch.setattr(builder.inputs, "tree", tree)
    with pytest.raises(StoreError) as caught:
        builder.make("fetch/m")

    assert str(caught.value) == "the sources of fetch/m change all the time while they are read"
    assert ran(builder) == []


# --- stopping --------------------------------------------------------------------------------


def test_a_build_that_was_stopped_starts_nothing_new(world):
    builder = world.open(FETCH)
    builder.cancel()
    with pytest.raises(Cancelled, match="fetch/m was stopped"):
        builder.make("fetch/m")

    assert ran(builder) == []


def test_a_build_is_stopped_while_another_makes_what_it_waits_for(world):
    builder = world.open(FETCH)
    other = world.open(FETCH)
    stop = threading.Timer(0.1, builder.cancel)
    stop.start()
    with (
        other.store.locked(key_of(builder.parts("fetch/m"))),
        pytest.raises(Cancelled, match="fetch/m was stopped"),
    ):
        builder.make("fetch/m")
    stop.join()

    assert ran(builder) == []


def test_what_a_build_learned_of_files_is_kept_at_its_end(world):
    os.utime(world.root / "a.txt", ns=(10**18, 10**18))
    builder = world.open(FETCH)
    builder.store.stats.know(world.root / "a.txt", "f" * 64)
    builder.finish()

    assert [digest for _, digest in builder.records.stats().values()] == ["f" * 64]
