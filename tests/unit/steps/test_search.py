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
    OutputBars,
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


def test_each_try_is_an_action_and_stands_on_the_decision_about_the_one_before() -> None:
    plan = plan_of([TARGET], TOOLCHAINS)
    first, lifted = plan[NAMES[0]], plan[NAMES[3]]
    before = NAMES[2].removeprefix("search/")

    assert tuple(n for n in names_of(plan) if n.startswith(("search", "sensitivity"))) == NAMES
    assert set(first.inputs) == {"model", "names", "feeds", "samples"}
    assert first.inputs["samples"] == plan["verify/silero/vad@SM8750"].inputs["samples"]
    assert lifted.inputs["decision"] == OutputOf(action=f"judge/{before}", output="decision")
    assert lifted.inputs["sensitivity"] == OutputOf(action=NAMES[1], output="sensitivity")
    assert {source.action for source in lifted.inputs.values() if isinstance(source, OutputOf)} == {
        "prepare/silero/vad",
        "calibrate/silero/vad",
        "samples/silero/vad",
        f"judge/{before}",
        NAMES[1],
    }
    assert "quantization-vad" in plan["bundle/silero@SM8750"].inputs


def test_the_bar_is_in_no_key_but_the_judges() -> None:
    low, high = (
        plan_of([replace(TARGET, graphs=(replace(GRAPH, verify=Verify(bars=bars)),))], TOOLCHAINS)
        for bars in (Bars(min_sqnr_db=25.0), Bars(min_sqnr_db=35.0))
    )
    changed = [action for action in low if action != high[action.name]]

    assert {action.step for action in changed} == {"judge", "verdict"}
    assert changed[0].params["bars"] == {"min_sqnr_db": 25.0}


def test_the_emulator_runs_what_holds_on_the_cpu() -> None:
    plan = plan_of([TARGET], TOOLCHAINS)
    emulated = plan["emulate/silero/vad/00-w8a8"]
    decided = OutputOf(action="judge/silero/vad/00-w8a8/cpu", output="decision")

    assert emulated.inputs["decision"] == decided
    assert emulated.params["soc_model"] == TARGET.chip.soc_model
    assert plan["judge/silero/vad/00-w8a8"].inputs["emulated"] == OutputOf(
        action=emulated.name, output="numbers"
    )


def test_the_cpu_decides_alone_where_nothing_is_run() -> None:
    quiet = replace(TARGET, graphs=(replace(GRAPH, verify=Verify(chips=("none",))),))
    steps = {action.step for action in plan_of([quiet], TOOLCHAINS)}

    assert "judge" in steps
    assert "emulate" not in steps


def test_convert_takes_every_try_with_the_verdict_on_it() -> None:
    taken = plan_of([TARGET], TOOLCHAINS)["convert/silero/vad+auto"]

    assert taken.inputs["model-00"] == OutputOf(action=NAMES[0], output="model")
    assert taken.inputs["verdict-00"] == OutputOf(
        action="judge/silero/vad/00-w8a8", output="verdict"
    )
    assert taken.inputs["numbers-09"] == OutputOf(action=NAMES[-1], output="numbers")
    assert "verdict-09" not in taken.inputs


def test_outputs_that_are_not_judged_count_in_no_layers_costs() -> None:
    verify = Verify(
        bars=Bars(min_sqnr_db=25.0),
        outputs={"n": OutputBars(excused="a counter"), "p": OutputBars(bars=Bars(min_cosine=0.9))},
    )
    plan = plan_of([replace(TARGET, graphs=(replace(GRAPH, verify=verify),))], TOOLCHAINS)

    assert plan[NAMES[1]].params == {"excused": ["n"]}
    assert plan["judge/silero/vad/00-w8a8"].params["bars"] == {
        "min_sqnr_db": 25.0,
        "outputs": {"n": {"excused": "a counter"}, "p": {"min_cosine": 0.9}},
    }


def test_chips_share_one_search() -> None:
    other = replace(TARGET, chip=packaged_chips()["SM8550"])

    assert tuple(
        n for n in names_of(plan_of([TARGET, other], TOOLCHAINS)) if n.startswith("search")
    ) == tuple(n for n in NAMES if n.startswith("search"))


def test_chips_that_can_do_less_search_apart_and_share_the_rest() -> None:
    graph = replace(GRAPH, precision="auto-123456", auto_from=("w8a8", "w16a16"))
    chips = [packaged_chips()[name] for name in ("SM8450", "SM8475", "SM8750")]
    targets = [replace(TARGET, chip=chip, graphs=(graph,)) for chip in chips]
    plan = plan_of(targets, TOOLCHAINS)
    searches = {name.split("/")[3] for name in names_of(plan) if name.startswith("search/")}
    converts = {
        chip.name: plan[f"context/silero/vad@{chip.name}"].needs()[0].rpartition("+")[2]
        for chip in chips
    }

    assert searches == set(converts.values())
    assert converts["SM8450"] == converts["SM8475"] != converts["SM8750"] == "auto-123456"
    assert len([n for n in names_of(plan) if n.startswith("prepare/")]) == 1
    assert not any("w16a16" in n for n in names_of(plan) if converts["SM8450"] in n)


def test_a_graph_with_no_bar_of_its_own_gets_the_usual_one() -> None:
    bare = replace(TARGET, graphs=(replace(GRAPH, verify=Verify(chips=("none",))),))

    assert plan_of([bare], TOOLCHAINS)["judge/silero/vad/00-w8a8"].params["bars"] == {
        "min_sqnr_db": 20.0
    }
