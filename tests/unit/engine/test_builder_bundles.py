"""The builder and what users take: build/, and the history that goes into a bundle."""

from __future__ import annotations

import json
from dataclasses import replace

from qnnbuild.actions.action import OutputOf, Provenance
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.staging import provenance_of
from qnnbuild.engine.state import Current
from tests.unit.engine.fake_world import (
    BUNDLE,
    CHAIN,
    CONTEXT,
    CONVERT,
    FETCH,
    action,
    artifact,
    make_all,
    ran,
    reasons,
    runner_of,
    text_of,
)

# --- build/ ----------------------------------------------------------------------------------


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


# --- provenance ------------------------------------------------------------------------------


TOLD = replace(
    BUNDLE, inputs={"i0": OutputOf(action="context/m", output="o"), "provenance": Provenance()}
)
HISTORY = (FETCH, CONVERT, CONTEXT, TOLD)


def history(builder: Builder) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = json.loads(provenance_of(builder, TOLD))
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
    text = provenance_of(builder, TOLD).decode()

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
