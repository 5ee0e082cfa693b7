"""ONNX and ctx.onnx files, read from their wire format."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from qnnbuild.formats.ctx_onnx import CtxOnnxFacts, as_ctx_onnx
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.onnx_file import DTYPES, SideFile, read_onnx
from qnnbuild.formats.tensor import TensorFacts
from tests.models import scale_bytes, scale_model, write_with_side_file
from tests.unit.formats.samples import ONE_GRAPH, ctx_onnx, sample


def test_versions_borders_operators_and_weights_are_told():
    model = scale_model()
    model.producer_name, model.producer_version = "exporter", "1.2"
    facts = read_onnx(memoryview(model.SerializeToString()))

    assert (facts.ir_version, facts.opsets, facts.producer) == (9, {"": 17}, "exporter 1.2")
    assert facts.inputs == (TensorFacts(name="x", dtype="float32", shape=(1, 4)),)
    assert facts.outputs == (TensorFacts(name="y", dtype="float32", shape=(1, 4)),)
    assert facts.operators == (("Mul", 1),)
    assert (facts.weights, facts.side_files, facts.quantized) == (4, (), False)


def test_symbolic_dimensions_keep_their_names():
    model = scale_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    facts = read_onnx(memoryview(model.SerializeToString()))

    assert facts.inputs[0].shape == ("batch", "?")


def test_an_input_that_is_a_weight_is_no_input():
    model = scale_model()
    model.graph.input.append(helper.make_tensor_value_info("weights", TensorProto.FLOAT, [1, 4]))
    facts = read_onnx(memoryview(model.SerializeToString()))

    assert [tensor.name for tensor in facts.inputs] == ["x"]


def test_side_files_are_named_with_what_they_must_hold(tmp_path: Path):
    facts = read_onnx(memoryview(write_with_side_file(tmp_path)))

    assert facts.side_files == (SideFile(name="m.data", needs=256),)


def test_operators_of_subgraphs_and_functions_count():
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "then", [], [])
    function = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    model = scale_model()
    model.graph.node.append(
        helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    )
    model.graph.node.append(helper.make_node("Twice", ["x"], ["t"], domain="own"))
    model.functions.append(function)
    facts = read_onnx(memoryview(model.SerializeToString()))

    assert facts.operators == (("Relu", 2), ("Add", 1), ("If", 1), ("Mul", 1), ("own:Twice", 1))


def test_a_data_type_is_named_as_the_onnx_package_names_it():
    known = {
        code: str(helper.tensor_dtype_to_np_dtype(code))
        for code in DTYPES
        if code not in (TensorProto.STRING, TensorProto.FLOAT4E2M1)
    }

    assert {code: DTYPES[code] for code in known} == {
        code: name.replace("float8_", "float8") for code, name in known.items()
    }


@pytest.mark.parametrize("kept", [1, 10, 60, 100])
def test_a_cut_onnx_is_refused(kept: int):
    with pytest.raises(FormatError):
        read_onnx(memoryview(scale_bytes()[:kept]))


def test_an_onnx_without_a_graph_is_refused():
    with pytest.raises(FormatError) as caught:
        read_onnx(memoryview(onnx.ModelProto(ir_version=9).SerializeToString()))

    assert str(caught.value) == "not an ONNX model: no IR version or no graph"


def test_a_ctx_onnx_tells_its_nodes_and_the_file_beside_it():
    facts = as_ctx_onnx(memoryview(ctx_onnx(binary="a_ctx_qnn.bin", partition=ONE_GRAPH)))

    assert isinstance(facts, CtxOnnxFacts)
    assert (facts.soc_models, facts.other_nodes) == ((69,), 0)
    assert [(n.partition, n.file, n.main, n.embedded) for n in facts.nodes] == [
        (ONE_GRAPH, "a_ctx_qnn.bin", True, None)
    ]
    assert facts.nodes[0].sdk_build == "v2.51.0.260929181845"


def test_an_embedded_binary_is_read():
    binary = sample("one_graph_sm8750.bin")
    facts = as_ctx_onnx(memoryview(ctx_onnx(binary=binary, partition=ONE_GRAPH)))

    assert isinstance(facts, CtxOnnxFacts)
    assert facts.nodes[0].file is None
    assert facts.nodes[0].embedded is not None
    assert facts.nodes[0].embedded.size == len(binary)


def test_a_version_in_letters_is_damage() -> None:
    """protobuf passes over a field of another kind than it knows; nobody may end in a traceback."""
    entry = b"\x0a\x00\x12\x03abc"
    with pytest.raises(FormatError, match="'abc' is no whole number"):
        read_onnx(memoryview(b"\x08\x08\x42" + bytes([len(entry)]) + entry))


def test_a_graph_in_two_parts_is_one() -> None:
    """As protobuf reads it: a list goes on, the last name counts."""
    first, second = scale_model(), scale_model()
    second.graph.name = "second"
    halves = first.SerializeToString() + onnx.ModelProto(graph=second.graph).SerializeToString()
    facts = read_onnx(memoryview(halves))
    whole = onnx.ModelProto.FromString(halves)

    assert (facts.graph, facts.operators) == ("second", (("Mul", 2),))
    assert (whole.graph.name, len(whole.graph.node)) == ("second", 2)
