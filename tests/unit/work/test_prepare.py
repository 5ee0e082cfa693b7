"""prepare as a whole: from the user's file to the prepared model and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from qnnbuild.work import fold, model_bytes
from qnnbuild.work import prepare as prepare_module
from qnnbuild.work.prepare import prepare
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import dtype_of, shape_of
from tests.graphs import model, text
from tests.repairable import BROKEN
from tests.working import PREPARE, run_work, written

CONV = (
    "g (float[N, C, 8, 8] x) => (float[N, 4, H, W] y) { [conv] c = Conv (x, w) [act] y = Relu (c) }"
)
WEIGHTS = np.linspace(-1, 1, 108, dtype=np.float32).reshape(4, 3, 3, 3)
FIXED = {"x": {"shape": [1, 3, 8, 8], "layout": "NCHW"}}


def conv() -> ModelProto:
    return model(CONV, w=WEIGHTS)


def run(made: ModelProto, folder: Path, *, samples: Path | None = None, **wishes: Any) -> Run:
    inputs = {"model": written(made, folder / "source")}
    if samples is not None:
        inputs["samples"] = samples
    params = {**PREPARE, **wishes}
    outputs = ("model", "baseline", "names", "report")
    return run_work(prepare, folder, params=params, inputs=inputs, outputs=outputs)


def report(folder: Path) -> Mapping[str, Any]:
    said: Mapping[str, Any] = json.loads(
        (folder / "out" / "report" / "report.json").read_text("utf-8")
    )
    return said


def result(folder: Path) -> ModelProto:
    return onnx.load(str(folder / "out" / "model" / "model.onnx"))


def test_the_report_says_what_was_made_and_how(tmp_path: Path) -> None:
    run(conv(), tmp_path, inputs=FIXED)

    assert report(tmp_path) == {
        "borders": {},
        "branches_taken": [],
        "bytes": {"prepared": 598, "source": 574},
        "cast": {"places": 0, "types": {}},
        "comparison": {
            "outputs": {
                "y": {"cosine": 1.0, "max_abs_up_to": 1e-4, "max_rel_up_to": 1e-5, "sqnr_db": 100}
            },
            "samples": "2 random",
        },
        "constants": {},
        "functions_inlined": [],
        "inputs": [{"dtype": "float32", "layout": "NCHW", "name": "x", "shape": [1, 3, 8, 8]}],
        "ir": 9,
        "multiply_adds": 3888,
        "on_cpu": [],
        "operator_notes": {},
        "operators": {"ai.onnx:Conv": 1, "ai.onnx:Relu": 1},
        "opset": 17,
        "outputs": [{"dtype": "float32", "name": "y", "shape": [1, 4, 6, 6]}],
        "parameters": 108,
        "repairs": {},
        "simplified": True,
        "sorted": True,
    }


def test_a_channel_that_the_weights_do_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        run(conv(), tmp_path, inputs={"x": {"shape": [1, 5, 8, 8]}})

    assert caught.value.place == "inputs"
    assert caught.value.message in {
        "the shapes do not fit together",
        "ONNX Runtime cannot run the prepared model on the CPU",
    }


def test_an_input_with_a_typo_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        run(conv(), tmp_path, inputs={"X": {"shape": [1, 3, 8, 8]}})

    assert caught.value.message == "the graph has no input 'X'"
    assert caught.value.hint == "did you mean 'x'?"
    assert caught.value.place == "inputs.X"


def test_the_graph_can_be_cut_at_an_inner_tensor(tmp_path: Path) -> None:
    run(conv(), tmp_path, inputs=FIXED, outputs=[{"name": "c", "dtype": None}])

    assert text(result(tmp_path)) == ["c = Conv(x, w)"]
    assert shape_of(result(tmp_path).graph.output[0]) == (1, 4, 6, 6)


def test_an_inner_tensor_that_becomes_an_output_gets_its_type(tmp_path: Path) -> None:
    """Files rarely say the types of inner tensors, and who compares the answers asks for them."""
    run(conv(), tmp_path, inputs=FIXED, outputs=[{"name": "c", "dtype": None}])
    (cut,) = onnx.load(str(tmp_path / "out/baseline/model.onnx")).graph.output

    assert (cut.name, dtype_of(cut), shape_of(cut)) == ("c", "float32", (1, 4, 6, 6))


def test_an_operator_that_is_cut_away_may_be_anything(tmp_path: Path) -> None:
    made = model("g (float[4] x) => (float[4] y) { a = Relu (x) y = my.ops.Swish (a) }")
    made.opset_import.add(domain="my.ops", version=1)
    with pytest.raises(WorkError) as caught:
        run(made, tmp_path / "whole")
    run(made, tmp_path / "cut", outputs=[{"name": "a", "dtype": None}])

    assert caught.value.message == "nobody knows the operator 'Swish' of domain 'my.ops'"
    assert caught.value.hint == (
        "outputs: [a] cuts the graph before it; or export without it, or give its package "
        "(op_packages:)"
    )
    assert text(result(tmp_path / "cut")) == ["a = Relu(x)"]


def test_a_size_that_the_numbers_decide_is_told(tmp_path: Path) -> None:
    made = model("g (float[4] x) => (float[N] y, float[4] z) { y = Unique (x) z = Relu (x) }")
    told = run(made, tmp_path, cpu_fallback="allow").warnings

    (said,) = [one.message for one in told if "depends on the numbers" in one.message]
    assert said == (
        "how long output 'y' is depends on the numbers, by node 'Unique_y' (Unique): [4] is what a "
        "sample gave, and an app has to ask each answer"
    )


def test_outputs_come_in_the_recipes_order(tmp_path: Path) -> None:
    wanted = [{"name": "y", "dtype": None}, {"name": "c", "dtype": None}]
    run(conv(), tmp_path, inputs=FIXED, outputs=wanted)

    assert [value.name for value in result(tmp_path).graph.output] == ["y", "c"]


def test_a_listed_twice_output_is_mended_by_the_recipe(tmp_path: Path) -> None:
    made = model("g (float[4] x) => (float[4] y, float[4] y) { y = Relu (x) }")
    run(made, tmp_path, outputs=[{"name": "y", "dtype": None}])

    assert [value.name for value in result(tmp_path).graph.output] == ["y"]


def test_without_simplifying_the_nodes_stay(tmp_path: Path) -> None:
    made = model("g (float[4] x) => (float[4] y) { [i] a = Identity (x) [r] y = Relu (a) }")
    run(made, tmp_path, simplify=False)

    assert text(result(tmp_path)) == ["a = Identity(x)", "y = Relu(a)"]


def test_given_samples_are_what_is_compared(tmp_path: Path) -> None:
    (tmp_path / "calib").mkdir()
    np.savez(tmp_path / "calib" / "a.npz", x=np.ones((1, 3, 8, 8), np.float32))
    run(conv(), tmp_path, samples=tmp_path / "calib", inputs=FIXED)

    assert report(tmp_path)["comparison"]["samples"] == "1 given"


def test_random_numbers_inside_are_told_and_not_compared(tmp_path: Path) -> None:
    made = model("g (float[4] x) => (float[4] y) { r = RandomNormalLike (x) y = Add (x, r) }")
    here = run(made, tmp_path)
    why_not = "it computes with random numbers (RandomNormalLike)"

    assert report(tmp_path)["comparison"] == {"why_not": why_not}
    assert [notice.message for notice in here.warnings] == [
        f"prepared and original cannot be compared: {why_not}"
    ]


def test_a_size_that_inference_cannot_find_is_taken_from_the_run(tmp_path: Path) -> None:
    made = model(
        "g (float[2, 4] x) => (float[K] y) { s = ReduceSum <keepdims = 0> (x) z = Sub (s, s)"
        " i = Cast <to = 7> (z) j = Add (i, five) y = Expand (k, j) }",
        five=np.asarray([5]),
        k=np.ones(1, np.float32),
    )
    run(made, tmp_path, cpu_fallback="allow")

    assert report(tmp_path)["outputs"] == [{"dtype": "float32", "name": "y", "shape": [5]}]


def test_renamed_nodes_are_told_apart_from_the_report(tmp_path: Path) -> None:
    made = conv()
    made.graph.node[0].name, made.graph.node[1].name = "n", "n"
    run(made, tmp_path, inputs=FIXED)

    names = json.loads((tmp_path / "out/names/names.json").read_text("utf-8"))
    assert names == {"n_2": "n"}


def test_a_model_beyond_the_limit_keeps_its_weights_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (fold, model_bytes, prepare_module):
        monkeypatch.setattr(module, "INLINE_LIMIT", 2000)
    for module in (fold, prepare_module):
        monkeypatch.setattr(module, "ASIDE_FROM", 1024)
    big = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    made = model(
        "g (float[N, 64] x) => (float[N, 64] y) {"
        " i = Identity (w) m = MatMul (x, i) y = Add (m, b) }",
        w=big,
        b=np.ones(64, np.float32),
    )
    (tmp_path / "source").mkdir()
    onnx.save_model(
        made,
        str(tmp_path / "source" / "model.onnx"),
        save_as_external_data=True,
        location="w.data",
        size_threshold=0,
    )
    run_work(
        prepare,
        tmp_path,
        params={**PREPARE, "inputs": {"x": {"shape": [1, 64]}}},
        inputs={"model": tmp_path / "source"},
        outputs=("model", "baseline", "names", "report"),
    )
    files = {file.name: file.stat().st_size for file in (tmp_path / "out" / "model").iterdir()}

    assert sorted(files) == ["model.data", "model.onnx"]
    assert files["model.data"] == 64 * 64 * 4
    assert text(result(tmp_path)) == ["y = Gemm(x, w, b)"]
    assert report(tmp_path)["comparison"]["outputs"]["y"]["sqnr_db"] == 100


def test_frozen_inputs_leave_the_borders(tmp_path: Path) -> None:
    made = model(
        "g (float[4] x, int64 sr) => (float[4] y) {"
        " c = Equal (sr, k) y = If (c) <then_branch = t () => (float[4] p) { p = Neg (x) },"
        " else_branch = e () => (float[4] q) { q = Exp (x) }> }",
        k=np.asarray(16000),
    )
    run(made, tmp_path, constants={"sr": 8000})

    assert [value.name for value in result(tmp_path).graph.input] == ["x"]
    assert text(result(tmp_path)) == ["y = Exp(x)"]
    assert report(tmp_path)["branches_taken"] == ["If_y"]


def test_the_baseline_is_the_original_with_fixed_shapes_constants_and_outputs(
    tmp_path: Path,
) -> None:
    made = model(
        "g (float[N, 4] x, float k) => (float[N, 4] y, float[N, 4] z) {"
        " i = Identity (x) y = Mul (i, k) z = Neg (y) }"
    )
    run(
        made,
        tmp_path,
        inputs={"x": {"shape": [1, 4]}},
        constants={"k": 3.0},
        outputs=[{"name": "y", "dtype": None}],
    )
    baseline = onnx.load(str(tmp_path / "out/baseline/model.onnx"))

    assert text(baseline) == ["i = Identity(x)", "y = Mul(i, k)"]
    assert shape_of(baseline.graph.input[0]) == (1, 4)
    assert [value.name for value in baseline.graph.input] == ["x"]
    assert json.loads((tmp_path / "out/baseline/baseline.json").read_text()) == {
        "is": "the original"
    }


def test_the_baseline_keeps_its_side_files(tmp_path: Path) -> None:
    (tmp_path / "source" / "weights").mkdir(parents=True)
    onnx.save_model(
        conv(),
        str(tmp_path / "source" / "model.onnx"),
        save_as_external_data=True,
        location="weights/w.data",
        size_threshold=0,
    )
    run_work(
        prepare,
        tmp_path,
        params={**PREPARE, "inputs": FIXED},
        inputs={"model": tmp_path / "source"},
        outputs=("model", "baseline", "names", "report"),
    )
    baseline = onnx.load(str(tmp_path / "out/baseline/model.onnx"))

    assert np.array_equal(onnx.numpy_helper.to_array(baseline.graph.initializer[0]), WEIGHTS)


def test_an_original_that_does_not_run_is_told(tmp_path: Path) -> None:
    made = model(
        "g (float[1, 4] x, int64 sr) => (float[A, B] y) {"
        " c = Equal (sr, k) y = If (c) <then_branch = t () => (float[1, 4] p) { p = Neg (x) },"
        " else_branch = e () => (float[1, 4] q) { q = Det (x) }> }",
        k=np.asarray(16000),
    )
    here = run(made, tmp_path, constants={"sr": 16000})

    assert text(result(tmp_path)) == ["y = Neg(x)"]
    assert here.warnings[0].message.startswith(
        "prepared and original cannot be compared: the original does not run on the CPU: "
    )
    assert text(onnx.load(str(tmp_path / "out/baseline/model.onnx"))) == ["y = Neg(x)"]
    assert json.loads((tmp_path / "out/baseline/baseline.json").read_text()) == {
        "is": "the prepared model"
    }


def test_bfloat16_at_the_borders_is_not_compared(tmp_path: Path) -> None:
    run(model("g (bfloat16[4] x) => (bfloat16[4] y) { y = Neg (x) }"), tmp_path)

    assert report(tmp_path)["comparison"] == {
        "why_not": "bfloat16 at its borders, which numpy does not know"
    }


def test_what_the_htp_computes_wrongly_in_float_is_a_warning_where_it_stays_float(
    tmp_path: Path,
) -> None:
    swish = BROKEN["hard-swish/input first"]

    floats = run(swish(), tmp_path / "fp16", inputs={}, fp16=True)
    quantized = run(swish(), tmp_path / "w8a16", inputs={}, fp16=False)
    repaired = run(swish(), tmp_path / "mended", inputs={}, fp16=True, repairs=["hard-swish"])

    assert [notice.place for notice in floats.warnings] == ["repairs"]
    assert "repairs: [hard-swish]" in floats.warnings[0].message
    assert quantized.warnings == repaired.warnings == []
