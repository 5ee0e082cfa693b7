from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from qnnbuild.actions.action import OutputOf, Provenance
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.runner import Cancelled
from qnnbuild.engine.state import Current, Stale, State, Waits
from qnnbuild.errors import RecipeError, StoreError, ToolError
from tests.unit.engine.fake_world import (
    FakeWorld,
    action,
    make_all,
    ran,
    runner_of,
    text_of,
)

FETCH = action("fetch/m", "a.txt")
CONVERT = action("convert/m", "fetch/m")
CONTEXT = action("context/m", "convert/m", "b.txt")
BUNDLE = action("bundle/m", "context/m", lands="m/SM8750")
CHAIN = (FETCH, CONVERT, CONTEXT, BUNDLE)


@pytest.fixture
def world(tmp_path: Path):
    here = FakeWorld(tmp_path)
    here.write(a_txt="a", b_txt="b")
    yield here
    here.close()


def reasons(state: State) -> tuple[str, ...]:
    assert isinstance(state, Stale)
    return state.reasons


def artifact(builder: Builder, name: str) -> Path:
    ((digest, _),) = builder.record(name).outputs["o"].files.values()
    return builder.store.path(digest)


# --- deciding ---------------------------------------------------------------------------------


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


def test_what_is_needed_must_be_current(world):
    builder = world.open(*CHAIN)
    with pytest.raises(StoreError, match="fetch/m is not current"):
        builder.make("convert/m")

    assert ran(builder) == []


# --- cutting off and going back ---------------------------------------------------------------


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


# --- one work, two names ----------------------------------------------------------------------


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


# --- force and forget -------------------------------------------------------------------------


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


# --- damage -----------------------------------------------------------------------------------


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


def test_an_artifact_that_goes_during_the_build_is_told(world):
    builder = world.open(*CHAIN)
    builder.make("fetch/m")
    builder.state("convert/m")
    artifact(builder, "fetch/m").unlink()
    with pytest.raises(StoreError) as caught:
        builder.make("convert/m")

    assert str(caught.value) == "an artifact went from the store while it was needed"


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
    assert reasons(world.open(*CHAIN).state("fetch/m")) == ("never built",)


# --- sources that change meanwhile ------------------------------------------------------------


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


# --- build/ -----------------------------------------------------------------------------------


def test_a_file_that_is_missing_in_build_is_restored_without_a_run(world):
    make_all(world.open(*CHAIN))
    (world.root / "build/m/SM8750/o.txt").unlink()
    builder = world.open(*CHAIN)
    told = reasons(builder.state("bundle/m"))
    hows = make_all(builder)

    assert told == ("build/m/SM8750/o.txt is missing",)
    assert hows == {"bundle/m": "restored"}
    assert ran(builder) == []
    assert (world.root / "build/m/SM8750/o.txt").read_text() == text_of(builder, "bundle/m")


def test_a_bundle_that_is_missing_in_build_does_not_stop_what_needs_its_record(world):
    after = action("report/m", "bundle/m")
    make_all(world.open(*CHAIN, after))
    (world.root / "build/m/SM8750/o.txt").unlink()

    assert isinstance(world.open(*CHAIN, after).state("report/m"), Current)


def test_the_end_of_a_build_does_not_fail_over_a_model_that_was_not_asked_for(world):
    other = action("bundle/n", "none.txt", lands="n/SM8750", group="n")
    builder = world.open(FETCH, action("bundle/m", "fetch/m", lands="m/SM8750"), other)
    for name in ("fetch/m", "bundle/m"):
        builder.make(name)
    builder.finish()

    assert (world.root / "build/index.json").exists()


def test_paths_are_the_sources_and_what_must_be_there(world):
    builder = world.open(FETCH, action("bundle/m", "fetch/m", "b.txt", lands="m/SM8750"))
    make_all(builder)
    sources, kept = builder.paths("bundle/m")

    assert sources == [world.root / "b.txt"]
    assert kept == [artifact(builder, "bundle/m"), world.root / "build/m/SM8750/o.txt"]


# --- provenance -------------------------------------------------------------------------------


TOLD = replace(
    BUNDLE, inputs={"i0": OutputOf(action="context/m", output="o"), "provenance": Provenance()}
)
HISTORY = (FETCH, CONVERT, CONTEXT, TOLD)


def history(builder: Builder) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = json.loads(builder.provenance(TOLD))
    return told


def test_the_history_tells_of_all_that_is_needed_and_of_nothing_else(world):
    builder = world.open(*HISTORY, action("fetch/n", "b.txt"))
    make_all(builder)
    told = history(builder)

    assert list(told) == ["context/m", "convert/m", "fetch/m"]
    for name, facts in told.items():
        record = builder.record(name)
        assert facts == {
            "step": record.step,
            "key": record.key,
            "tool": {"code:fake": "1"},
            "inputs": record.parts["inputs"],
            "outputs": {"o": record.outputs["o"].digest},
        }


def test_the_history_that_an_action_gets_is_the_one_in_its_key(world):
    builder = world.open(*HISTORY)
    make_all(builder)
    text = builder.provenance(TOLD).decode()

    assert text_of(builder, "bundle/m") == f"bundle/m({text_of(builder, 'context/m')}+{text})"


def test_another_history_of_the_same_content_makes_the_bundle_again(world):
    make_all(world.open(*HISTORY))
    world.write(a_txt="another a")
    builder = world.open(*HISTORY)
    runner_of(builder).makes["fetch/m"] = lambda _: "fetch/m(a)"
    for one in ("fetch/m", "convert/m"):
        if not isinstance(builder.state(one), Current):
            builder.make(one)
    (told,) = reasons(builder.state("bundle/m"))

    assert ran(builder) == ["fetch/m"]
    assert told.startswith("the history of what it needs changed: ")


# --- stopping ---------------------------------------------------------------------------------


def test_a_build_that_was_stopped_starts_nothing_new(world):
    builder = world.open(FETCH)
    builder.cancel()
    with pytest.raises(Cancelled, match="fetch/m was stopped"):
        builder.make("fetch/m")

    assert ran(builder) == []


def test_what_a_build_learned_of_files_is_kept_at_its_end(world):
    os.utime(world.root / "a.txt", ns=(10**18, 10**18))
    builder = world.open(FETCH)
    builder.store.stats.know(world.root / "a.txt", "f" * 64)
    builder.finish()

    assert [digest for _, digest in builder.records.stats().values()] == ["f" * 64]
