"""The prepare action, and what of a graph reaches its key."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import Action, OutputOf, SourceFiles
from qnnbuild.model.recipe import (
    Bars,
    BundleOptions,
    Chip,
    ContextOptions,
    FileSource,
    Graph,
    InputSpec,
    License,
    OutputBars,
    OutputSpec,
    Target,
    Verify,
)
from qnnbuild.steps.prepare import params, prepare, problems

GRAPH = Graph(name="encoder", source=FileSource(file="m.onnx"))


def test_what_the_recipe_does_not_say_does_not_reach_the_key() -> None:
    assert params(GRAPH, "ort") == {
        "inputs": {},
        "outputs": [],
        "constants": {},
        "cast": {},
        "repairs": [],
        "simplify": True,
        "max_fold_bytes": 64 << 20,
        "fp16": True,
        "cpu_fallback": "refuse",
    }


def test_inputs_and_outputs_are_written_as_the_recipe_has_them() -> None:
    graph = replace(
        GRAPH,
        inputs={"x": InputSpec(shape=(1, 3), dtype="int32", layout="NC", range=(0, 9))},
        outputs={"b": OutputSpec(), "a": OutputSpec(dtype="int32")},
    )

    assert params(graph, "ort")["inputs"] == {
        "x": {"shape": [1, 3], "dtype": "int32", "layout": "NC", "range": [0, 9]}
    }
    assert params(graph, "ort")["outputs"] == [
        {"name": "b", "dtype": None},
        {"name": "a", "dtype": "int32"},
    ]


def test_outputs_that_have_bars_are_known_by_their_names_and_not_their_bars() -> None:
    def judged(bar: float) -> Graph:
        own = {"y": OutputBars(bars=Bars(min_sqnr_db=bar)), "n": OutputBars(excused="it counts")}
        return replace(GRAPH, verify=Verify(outputs=own))

    assert params(judged(20.0), "ort")["judged"] == ["n", "y"]
    assert params(judged(20.0), "ort") == params(judged(30.0), "ort")


def test_of_the_precision_only_fp16_matters() -> None:
    eight, mixed = replace(GRAPH, precision="w8a8"), replace(GRAPH, precision="w8a16")

    assert params(eight, "ort") == params(mixed, "ort")
    assert params(eight, "ort") != params(GRAPH, "ort")


def test_the_sdk_computes_fp32_in_fp16_too() -> None:
    floats, eight = replace(GRAPH, precision="fp32"), replace(GRAPH, precision="w8a8")

    assert params(floats, "qairt-2.40") == params(GRAPH, "qairt-2.40")
    assert params(floats, "qairt-2.40")["fp16"] is True
    assert params(floats, "ort")["fp16"] is False
    assert params(eight, "qairt-2.40")["fp16"] is False


def test_a_repair_with_a_typo_is_told_with_the_names_there_are() -> None:
    (problem,) = problems(replace(GRAPH, repairs=("gellu",)))

    assert problem.message == "no repair is named 'gellu'"
    assert problem.hint is not None
    assert problem.hint.startswith("did you mean 'gelu'?")


def test_an_input_cannot_be_a_constant_as_well() -> None:
    (problem,) = problems(replace(GRAPH, inputs={"sr": InputSpec()}, constants={"sr": 16000}))

    assert problem.message == "'sr' stands under inputs and under constants"


def test_samples_are_an_input_of_their_own() -> None:
    source = OutputOf(action="fetch/m", output="model")
    action = prepared(replace(GRAPH, samples=("calib/*.npz",)), source)

    assert action.inputs == {"model": source, "samples": SourceFiles(patterns=("calib/*.npz",))}
    assert action.outputs == ("model", "baseline", "names", "report")
    assert action.call == "qnnbuild.work.prepare:prepare"


def prepared(graph: Graph, source: OutputOf) -> Action:
    target = Target(
        model="m",
        variant="",
        axes={},
        chip=Chip(
            name="SM8750",
            marketing=(),
            soc_model=69,
            arch=79,
            vtcm_mb=8,
            hvx_threads=6,
            fp16=True,
        ),
        toolchain="ort",
        license=License(spdx="MIT"),
        graphs=(graph,),
        context=ContextOptions(),
        bundle=BundleOptions(),
    )
    return prepare(target, graph, source, "prepare/m/encoder")
