"""Which compile `qnnbuild debug NAME` means, and what its action takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import NothingMatches
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    Target,
    Verify,
)
from qnnbuild.planner import plan_of
from qnnbuild.steps.debug import debug, verified_by
from qnnbuild.toolchains.ortqnn import OrtQnn


def action(name: str, call: str, *outputs: str, **inputs: str) -> Action:
    """Inputs are written ACTION:OUTPUT."""
    return Action(
        name=name,
        step=name.partition("/")[0],
        call=call,
        params={"soc_model": 69, "options": {}, "cpu_fallback": False, "quantized": False},
        inputs={
            key: OutputOf(action=value.rpartition(":")[0], output=value.rpartition(":")[2])
            for key, value in inputs.items()
        },
        outputs=outputs,
    )


def plan(*, verified: bool = True) -> Plan:
    context = "qnnbuild.work.context_ort:context"
    actions = [
        action("prepare/m/g", "work:prepare", "model", "names"),
        action("samples/m/g", "work:collect", "feeds", model="prepare/m/g:model"),
        action(
            "convert/m/g+fp16",
            "qnnbuild.work.convert_ort:convert",
            "model",
            model="prepare/m/g:model",
        ),
    ]
    actions += [
        action(
            f"context/m/g@{chip}",
            context,
            "context",
            model="convert/m/g+fp16:model",
            names="prepare/m/g:names",
        )
        for chip in ("A", "B")
    ]
    if verified:
        actions.append(
            action(
                "verify/m/g@A",
                "work:verify",
                "numbers",
                context="context/m/g@A:context",
                samples="samples/m/g:feeds",
            )
        )
    return Plan.of(actions)


@pytest.mark.parametrize("name", ["context/m/g@A", "verify/m/g@A"])
def test_an_action_of_one_graph_and_chip_is_enough(name: str) -> None:
    made = debug(plan(), name, sample=1, bar_db=20.0)

    assert made.name == "debug/m/g@A"
    assert made.call == "qnnbuild.work.debug:debug"
    assert made.inputs == {
        "model": OutputOf(action="convert/m/g+fp16", output="model"),
        "prepared": OutputOf(action="prepare/m/g", output="model"),
        "names": OutputOf(action="prepare/m/g", output="names"),
        "samples": OutputOf(action="samples/m/g", output="feeds"),
    }
    assert made.params == {
        "soc_model": 69,
        "options": {},
        "cpu_fallback": False,
        "quantized": False,
        "sample": 1,
        "bar_db": 20.0,
        "alone": False,
    }


def test_a_chip_that_is_not_verified_takes_the_samples_of_its_graph() -> None:
    made = debug(plan(verified=False), "context/m/g@B", sample=0, bar_db=20.0)

    assert made.inputs["samples"] == OutputOf(action="samples/m/g", output="feeds")


def test_what_is_about_several_chips_is_refused() -> None:
    with pytest.raises(NothingMatches) as caught:
        debug(plan(), "prepare/m/g", sample=0, bar_db=20.0)

    assert str(caught.value) == "prepare/m/g is about 2 compiled graphs, one is wanted"
    assert caught.value.problems[0].facts == (("they are", "context/m/g@A, context/m/g@B"),)


def test_a_graph_that_shares_its_binary_is_looked_at_by_itself() -> None:
    chip = packaged_chips()["SM8750"]
    one = Graph(name="one", source=FileSource(file="m.onnx"), verify=Verify(chips=("all",)))
    target = Target(
        model="m", variant="", axes={}, chip=chip, toolchain="ort", license=License(spdx="MIT"),
        graphs=(one, replace(one, name="two")), context=ContextOptions(share_weights=("graphs",)),
        bundle=BundleOptions(),
    )  # fmt: skip
    found = plan_of([target], {"ort": OrtQnn()})

    looked = debug(found, "verify/m/two@SM8750", sample=0, bar_db=20.0)

    assert looked.name == "debug/m/two@SM8750"
    assert looked.params["soc_model"] == chip.soc_model
    assert looked.inputs["model"] == OutputOf(action="convert/m/two+fp16", output="model")
    assert verified_by(found, looked) == "verify/m/two@SM8750"
    with pytest.raises(NothingMatches, match="one is looked at at a time"):
        debug(found, "context/m/one+two@SM8750", sample=0, bar_db=20.0)
