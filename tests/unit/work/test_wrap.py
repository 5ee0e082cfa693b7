"""An ONNX model around a graph of a context binary, and the original that it is held to."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.work.made_files import COMPILED, MADE
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.wrap import NO_REFERENCE, wrap
from tests.graphs import model
from tests.working import run_work, written

DATA = Path(__file__).parents[1] / "formats" / "data"
OUTPUTS = ("model", "baseline", "names", "report")
TWO = (
    "QNNExecutionProvider_QNNExecutionProvider_4534053821767735619_1_0",
    "QNNExecutionProvider_QNNExecutionProvider_14309111072632677185_1_0",
)


def binary(name: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / MADE[COMPILED]).write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    return folder


def wrapped(name: str, folder: Path, original: ModelProto | None = None, **params: Any) -> Run:
    facts = read_any(binary(name, folder / "binary") / MADE[COMPILED])
    assert isinstance(facts, ContextFacts)
    inputs = {"model": folder / "binary"}
    if original is not None:
        inputs["original"] = written(original, folder / "original")
    usual = {"graph": facts.graphs[0].name, "given": True, "float_io": False, "inputs": {}}
    return run_work(
        wrap, folder / "run", params={**usual, **params}, inputs=inputs, outputs=OUTPUTS
    )


def original(x: str = "x", y: str = "scores") -> ModelProto:
    """float [1, 3, 16, 16] → float [1, 10]."""
    text = f"g (float[1, 3, 16, 16] {x}) => (float[1, 768] {y}) {{ {y} = Flatten ({x}) }}"
    made = model(text)
    made.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 10
    return made


def attributes(run: Run) -> dict[str, Any]:
    made = onnx.load(str(run.outputs["model"] / "model.onnx"))
    (node,) = [node for node in made.graph.node if node.op_type == "EPContext"]
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def test_the_node_is_what_the_plugin_writes_itself(tmp_path: Path) -> None:
    run = wrapped("two_graphs_sm8750.bin", tmp_path, graph=TWO[1])

    assert attributes(run) == {
        "embed_mode": 0,
        "ep_cache_context": b"model.bin",
        "ep_sdk_version": b"v2.51.0.260929181845",
        "main_context": 1,
        "partition_name": TWO[1].encode(),
        "source": b"QNNExecutionProvider",
    }
    facts = read_any(run.outputs["model"] / "model.onnx")
    assert isinstance(facts, CtxOnnxFacts)
    assert facts.compatibility == "v2:6:2.51.0:5.51.0:0:69:0:0"
    assert [(one.name, one.dtype, one.shape) for one in facts.onnx.inputs] == [
        ("x_b", "float32", (1, 3, 16, 16))
    ]


def test_quantized_borders_stay_unless_floats_are_asked_for(tmp_path: Path) -> None:
    plain = read_any(
        wrapped("one_graph_sm8750.bin", tmp_path / "a").outputs["model"] / "model.onnx"
    )
    floats = read_any(
        wrapped("one_graph_sm8750.bin", tmp_path / "b", float_io=True).outputs["model"]
        / "model.onnx"
    )
    assert isinstance(plain, CtxOnnxFacts)
    assert isinstance(floats, CtxOnnxFacts)
    quantized = {one.name: one.dtype for one in plain.onnx.inputs}
    borders = {one.name: one.dtype for one in floats.onnx.inputs}

    assert set(quantized.values()) <= {"uint8", "uint16", "float32"}
    assert set(borders.values()) == {"float32"}
    assert floats.other_nodes > 0 == plain.other_nodes


def test_a_graph_that_is_not_inside_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        wrapped("two_graphs_sm8750.bin", tmp_path, graph="encoder", given=False)

    assert caught.value.message == "the binary has no graph 'encoder'"
    assert caught.value.place == "graph"
    assert caught.value.facts == (("inside", TWO[0]), ("inside", TWO[1]))
    assert caught.value.hint == f"compiled: {{graph: {TWO[0]}}}"


def test_without_an_original_the_baseline_says_that_there_is_none(tmp_path: Path) -> None:
    run = wrapped("two_graphs_sm8750.bin", tmp_path)

    assert json.loads((run.outputs["baseline"] / "baseline.json").read_text()) == {
        "is": None,
        "outputs": {"scores": {"kind": "float"}},
        "why_not": NO_REFERENCE,
    }


def test_an_original_with_the_same_borders_is_kept_as_it_is(tmp_path: Path) -> None:
    run = wrapped("two_graphs_sm8750.bin", tmp_path, original())
    kept = run.outputs["baseline"] / "model.onnx"

    assert kept.read_bytes() == original().SerializeToString()


def test_names_that_a_converter_has_changed_are_found_again(tmp_path: Path) -> None:
    theirs = original()
    theirs.graph.input[0].name = theirs.graph.node[0].input[0] = "x/b"
    run = wrapped("two_graphs_sm8750.bin", tmp_path, theirs, graph=TWO[1])
    kept = onnx.load(str(run.outputs["baseline"] / "model.onnx"))
    onnx.checker.check_model(kept)

    assert [value.name for value in kept.graph.input] == ["x_b"]
    assert [node.op_type for node in kept.graph.node] == ["Identity", "Flatten"]


def test_an_original_with_other_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        wrapped("two_graphs_sm8750.bin", tmp_path, original(x="image"))

    assert caught.value.message == "the original has no input 'x', which the binary has"
    assert caught.value.place == "compiled.original"
    assert caught.value.facts == (("its inputs", "image"),)


def test_an_original_with_other_shapes_is_refused(tmp_path: Path) -> None:
    theirs = original()
    theirs.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 4

    with pytest.raises(WorkError) as caught:
        wrapped("two_graphs_sm8750.bin", tmp_path, theirs)

    assert caught.value.message == "input 'x' of the original is another than the binary's"
    assert caught.value.facts == (
        ("original", "float32 [1, 4, 16, 16]"),
        ("binary", "float32 [1, 3, 16, 16]"),
    )


def test_an_input_of_the_recipe_is_one_of_the_binary(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        wrapped("two_graphs_sm8750.bin", tmp_path, inputs={"y": {"range": [0, 1]}})

    assert caught.value.message == "the binary has no input 'y'"
    assert caught.value.place == "inputs.y"


def test_an_original_with_floats_is_called_as_the_floats_of_the_wrapper(tmp_path: Path) -> None:
    facts = read_any(binary("one_graph_sm8750.bin", tmp_path / "seen") / MADE[COMPILED])
    assert isinstance(facts, ContextFacts)
    (graph,) = facts.graphs
    values = [
        [onnx.helper.make_tensor_value_info(t.name, 1, list(t.shape)) for t in some]
        for some in (graph.inputs, graph.outputs)
    ]
    nodes = [
        onnx.helper.make_node("Neg", [given.name], [made.name])
        for given, made in zip(*values, strict=True)
    ]
    theirs = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", values[0], values[1]))
    run = wrapped("one_graph_sm8750.bin", tmp_path, theirs, float_io=True)
    kept = onnx.load(str(run.outputs["baseline"] / "model.onnx"))
    made = onnx.load(str(run.outputs["model"] / "model.onnx"))

    assert [v.name for v in kept.graph.input] == [v.name for v in made.graph.input]
    assert [v.name for v in kept.graph.output] == [v.name for v in made.graph.output]
    assert kept.graph.input[0].name.endswith("_dq")
