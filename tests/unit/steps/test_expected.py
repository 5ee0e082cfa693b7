"""What is planned for a graph that is known to fail on a chip."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.plan import Plan
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    ExpectedFailure,
    FileSource,
    Graph,
    License,
    Metric,
    Target,
    Verify,
)
from qnnbuild.planner import plan_of
from qnnbuild.toolchains.ortqnn import OrtQnn

CHIPS = packaged_chips()
WER = Metric(name="wer", file="eval/wer.py", at_most=0.1)
GRAPH = Graph(name="vad", source=FileSource(file="vad.onnx"), verify=Verify(metrics=(WER,)))
KNOWN = replace(GRAPH, expect_failure=ExpectedFailure(reason="it overflows", issue="a/b#7"))
GOOD = Target(
    model="silero",
    variant="",
    axes={},
    chip=CHIPS["SM8750"],
    toolchain="ort",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
)
BAD = replace(GOOD, chip=CHIPS["SM8350"], graphs=(KNOWN,))


def plan(*targets: Target) -> Plan:
    return plan_of(targets, {"ort": OrtQnn()})


def for_chips(found: Plan) -> list[str]:
    return sorted(action.name for action in found if "@" in action.name)


def test_it_is_tried_in_one_action_and_makes_no_bundle() -> None:
    assert for_chips(plan(GOOD, BAD)) == [
        "bundle/silero@SM8750",
        "context/silero/vad@SM8750",
        "expect/silero/vad@SM8350",
        "metric/silero/vad/wer@SM8750",
        "verdict/silero/vad@SM8750",
        "verify/silero/vad@SM8750",
    ]


def test_it_does_all_that_would_be_done_were_it_good() -> None:
    good = plan(replace(GOOD, chip=CHIPS["SM8350"]))
    known = plan(BAD)["expect/silero/vad@SM8350"]

    assert known.params == {
        "context": good["context/silero/vad@SM8350"].params,
        "verify": good["verify/silero/vad@SM8350"].params,
        "metrics": {"wer": good["metric/silero/vad/wer@SM8350"].params},
        "verdict": good["verdict/silero/vad@SM8350"].params,
        "reason": "it overflows",
        "issue": "a/b#7",
        "deadline_s": 900.0,
    }
    assert set(known.inputs) == {"model", "names", "samples", "reference", "code-wer"}


def test_each_of_its_steps_has_the_deadline_that_it_would_have_alone() -> None:
    known = replace(BAD, graphs=(replace(KNOWN, deadline_s=100.0),))
    action = plan(known)["expect/silero/vad@SM8350"]

    assert action.params["deadline_s"] == 100.0
    assert action.deadline_s == 460.0  # context, verify, metric, verdict


def test_it_is_only_compiled_where_nothing_is_to_be_run() -> None:
    quiet = replace(KNOWN, verify=Verify(chips=("none",)))
    found = plan(replace(BAD, graphs=(quiet,)))

    assert found["expect/silero/vad@SM8350"].params["verify"] is None
    assert [action.step for action in found] == ["fetch", "prepare", "convert", "expect"]


def test_it_stands_for_no_other_chip_of_its_generation() -> None:
    other = next(c for c in CHIPS if c.arch == BAD.chip.arch and c.name != BAD.chip.name)
    found = plan(BAD, replace(GOOD, chip=other))

    assert f"verify/silero/vad@{other.name}" in found


def test_graphs_beside_it_are_not_compiled_for_that_chip() -> None:
    beside = replace(GRAPH, name="beside")

    assert for_chips(plan(replace(BAD, graphs=(beside, KNOWN)))) == ["expect/silero/vad@SM8350"]
