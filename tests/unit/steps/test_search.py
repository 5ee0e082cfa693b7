"""The tries of `precision: auto`, and their actions in a plan."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    Bars,
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    Quantization,
    Samples,
    Target,
    Verify,
)
from qnnbuild.planner import plan_of
from qnnbuild.steps.search import tries_of
from qnnbuild.toolchains.ortqnn import OrtQnn

GRAPH = Graph(
    name="vad",
    source=FileSource(file="vad.onnx"),
    precision="auto",
    auto_from=("w8a8", "w8a16"),
    calibration=Samples(files=("samples/*.npz",)),
    verify=Verify(bars=Bars(min_sqnr_db=25.0)),
)
TARGET = Target(
    model="silero",
    variant="",
    axes={},
    chip=packaged_chips()["SM8750"],
    toolchain="ort",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
)
TOOLCHAINS = {"ort": OrtQnn()}
NAMES = (
    "search/silero/vad/00-w8a8",
    "sensitivity/silero/vad",
    "search/silero/vad/01-w8a8-lift-1",
    "search/silero/vad/02-w8a8-lift-2",
    "search/silero/vad/03-w8a8-lift-4",
    "search/silero/vad/04-w8a8-lift-8",
    "search/silero/vad/05-w8a8-lift-16",
    "search/silero/vad/06-w8a8-lift-32",
    "search/silero/vad/07-w8a8-lift-64",
    "search/silero/vad/08-w8a16",
    "search/silero/vad/09-float",
)


def names_of(plan: Plan) -> list[str]:
    return [action.name for action in plan]


def labels(**graph: object) -> list[str]:
    return [one.label for one in tries_of(replace(GRAPH, **graph))]  # type: ignore[arg-type]


def test_narrow_activations_come_first_then_lifted_ones_then_wide_ones_then_floats() -> None:
    lifted = [f"w8a8-lift-{n}" for n in (1, 2, 4, 8, 16, 32, 64)]

    assert labels() == ["w8a8", *lifted, "w8a16", "float"]
    assert labels(auto_from=("w8a16", "w8a8")) == labels()
    assert labels(auto_from=("w8a8",)) == labels()
    assert labels(auto_from=("w8a16",)) == ["w8a16", "float"]


def test_tries_share_the_recipes_other_settings() -> None:
    graph = replace(GRAPH, quantization=Quantization(method="entropy"))

    assert {one.quantization and one.quantization.method for one in tries_of(graph)} == {
        "entropy",
        None,
    }


def test_each_try_is_an_action_that_stands_on_the_one_before() -> None:
    plan = plan_of([TARGET], TOOLCHAINS)
    first, lifted = plan[NAMES[0]], plan[NAMES[3]]

    assert tuple(n for n in names_of(plan) if n.startswith(("search", "sensitivity"))) == NAMES
    assert set(first.inputs) == {"model", "names", "feeds"}
    assert lifted.inputs["before-verdict"] == OutputOf(action=NAMES[2], output="verdict")
    assert lifted.inputs["sensitivity"] == OutputOf(action=NAMES[1], output="sensitivity")
    assert lifted.params["bars"] == {"min_sqnr_db": 25.0}
    assert plan["convert/silero/vad+auto"].inputs["model"] == OutputOf(
        action=NAMES[-1], output="model"
    )
    assert "quantization-vad" in plan["bundle/silero@SM8750"].inputs


def test_chips_share_one_search() -> None:
    other = replace(TARGET, chip=packaged_chips()["SM8550"])

    assert tuple(
        n for n in names_of(plan_of([TARGET, other], TOOLCHAINS)) if n.startswith("search")
    ) == tuple(n for n in NAMES if n.startswith("search"))


def test_a_graph_with_no_bar_of_its_own_gets_the_usual_one() -> None:
    bare = replace(TARGET, graphs=(replace(GRAPH, verify=Verify(chips=("none",))),))

    assert plan_of([bare], TOOLCHAINS)[NAMES[0]].params["bars"] == {"min_sqnr_db": 20.0}
