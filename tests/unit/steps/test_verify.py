"""The actions that run and judge what ships."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import OutputOf, SourceFiles
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    Bars,
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    Metric,
    Target,
    Verify,
)
from qnnbuild.steps.verify import metric, reference, verdict, verify
from qnnbuild.toolchains.ortqnn import OrtQnn

WER = Metric(name="wer", file="eval/wer.py", needs=("eval/text/*.txt",), at_most=0.1)
GRAPH = Graph(
    name="vad",
    source=FileSource(file="vad.onnx"),
    verify=Verify(bars=Bars(min_sqnr_db=30.0), metrics=(WER,)),
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
SAMPLES = OutputOf(action="samples/silero/vad", output="feeds")
RECORDED = OutputOf(action="references/silero/vad", output="recorded")


def test_the_reference_runs_the_baseline_and_knows_no_chip() -> None:
    action = reference(TARGET, GRAPH, prepared="prepare/x", samples=SAMPLES, name="reference/x")

    assert action.inputs == {
        "baseline": OutputOf(action="prepare/x", output="baseline"),
        "samples": SAMPLES,
    }
    assert action.outputs == ("reference",)
    assert action.params == {}


def test_verify_takes_what_ships_and_no_bar() -> None:
    action = verify(
        TARGET,
        GRAPH,
        OrtQnn(),
        compiled="context/x",
        stem="vad",
        referred="reference/x",
        samples=SAMPLES,
        recorded=RECORDED,
        name="verify/x",
    )
    other = replace(GRAPH, verify=replace(GRAPH.verify, bars=Bars(min_sqnr_db=12.0)))

    assert action.inputs == {
        "context": OutputOf(action="context/x", output="context"),
        "facts": OutputOf(action="context/x", output="facts"),
        "samples": SAMPLES,
        "reference": OutputOf(action="reference/x", output="reference"),
        "recorded": RECORDED,
    }
    assert action.outputs == ("outputs", "numbers")
    assert action.params["soc_model"] == 69
    assert OrtQnn().verify(other, TARGET.chip, "vad").params == action.params


def test_a_metrics_code_and_needs_are_inputs() -> None:
    action = metric(
        TARGET,
        GRAPH,
        WER,
        verified="verify/x",
        referred="reference/x",
        samples=SAMPLES,
        name="metric/x/wer",
    )

    assert action.inputs["code"] == SourceFiles(patterns=("eval/wer.py", "eval/text/*.txt"))
    assert action.params == {"name": "wer", "file": "eval/wer.py", "function": "metric"}


def test_bars_stand_in_the_verdict_alone() -> None:
    action = verdict(
        TARGET, GRAPH, verified="verify/x", metrics={"wer": "metric/x/wer"}, name="verdict/x"
    )

    assert action.params == {
        "graph": "vad",
        "chip": "SM8750",
        "debug": "verify/x",
        "bars": {"min_sqnr_db": 30.0},
        "metrics": {"wer": {"at_least": None, "at_most": 0.1}},
    }
    assert action.inputs == {
        "numbers": OutputOf(action="verify/x", output="numbers"),
        "values-wer": OutputOf(action="metric/x/wer", output="values"),
    }
