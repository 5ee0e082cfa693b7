"""Quantizing on the CPU: what tensors get, what is told, what is refused; no compiler runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from qnnbuild.model.recipe import Quantization
from qnnbuild.work import model_bytes, quantize_ort
from qnnbuild.work.feeds import feed_files, read_feeds
from qnnbuild.work.run import WorkError
from tests.graphs import model
from tests.models import tiny_conv, tiny_qdq, two_branch, with_blocks
from tests.quantizing import quantized, write_feeds


def sqnr(said: dict[str, dict[str, dict[str, float]]], output: str) -> float:
    return said["compared"][output]["sqnr_db"]


def test_activations_and_weights_become_8_bits(tmp_path: Path):
    made = quantized(tmp_path, tiny_conv())

    assert made.dtypes() == {
        "x": "uint8", "w": "int8", "b": "int32", "r": "uint8", "f": "uint8",
        "dense": "int8", "scores": "uint8",
    }  # fmt: skip
    assert made.said["nodes"] == {"8": 3}
    assert sqnr(made.said, "scores") >= 30
    assert made.warnings == []


def test_a_bias_of_one_row_far_beyond_its_weights_is_quantized(tmp_path: Path):
    """onnxruntime's quantizer fails on it; a simplifier makes such rows of MatMul and Add."""
    random = np.random.default_rng(3)
    net = model(
        "g (float[1, 8] x) => (float[1, 8] y) { y = Gemm(x, w, far) }",
        w=0.001 * random.standard_normal((8, 8)).astype(np.float32),
        far=np.full((1, 8), 3e5, np.float32),
    )

    made = quantized(tmp_path, net, Quantization(per_channel=True))

    assert made.dtypes()["far"] == "int32"
    assert sqnr(made.said, "y") >= 40


def test_16_bits_are_closer_than_8(tmp_path: Path):
    wide = quantized(tmp_path / "wide", two_branch(), Quantization(weights=16, activations=16))
    narrow = quantized(tmp_path / "narrow", two_branch())

    assert sqnr(wide.said, "product") > sqnr(narrow.said, "product") + 20
    assert set(wide.dtypes().values()) == {"uint16", "int16"}


@pytest.mark.parametrize("activations", [8, 16])
def test_4_bit_weights_are_stored_as_such(tmp_path: Path, activations: int):
    made = quantized(
        tmp_path, two_branch(), Quantization(weights=4, activations=activations, per_channel=True)
    )
    (weight,) = [t for t in made.model.graph.initializer if t.name == "u_quantized"]

    assert weight.data_type == onnx.TensorProto.INT4
    assert made.said["tensors"]["u"]["scales"] == 64


def test_per_channel_is_for_matrix_products_too(tmp_path: Path):
    made = quantized(tmp_path, tiny_conv(), Quantization(per_channel=True))

    assert {name: t["scales"] for name, t in made.said["tensors"].items() if "scales" in t} == {
        "w": 8, "b": 8, "dense": 10,
    }  # fmt: skip


@pytest.mark.parametrize("activations", [8, None])
def test_per_channel_works_in_opsets_whose_own_quantizers_know_no_channels(
    tmp_path: Path, activations: int | None
):
    model = tiny_conv()
    model.opset_import[0].version = 11
    made = quantized(tmp_path, model, Quantization(activations=activations, per_channel=True))

    assert made.said["tensors"]["dense"]["scales"] == 10
    assert sqnr(made.said, "scores") >= 30


def test_symmetric_activations_have_their_zero_in_the_middle(tmp_path: Path):
    made = quantized(tmp_path, tiny_conv(), Quantization(symmetric_activations=True))

    assert made.said["tensors"]["x"]["zero_point"] == 128


def test_asymmetric_weights_are_unsigned(tmp_path: Path):
    made = quantized(tmp_path, tiny_conv(), Quantization(symmetric_weights=False))

    assert made.dtypes()["w"] == "uint8"


@pytest.mark.parametrize("method", ["minmax", "moving_average", "percentile", "entropy"])
def test_every_method_gives_a_model_that_is_close(tmp_path: Path, method: str):
    percentile = 99.9 if method == "percentile" else None
    made = quantized(tmp_path, two_branch(), Quantization(method=method, percentile=percentile))

    assert sqnr(made.said, "sum") >= 10


def test_methods_that_cut_make_smaller_steps(tmp_path: Path):
    steps = {
        method: quantized(
            tmp_path / method, two_branch(), Quantization(method=method, percentile=95.0)
        ).said["tensors"]["a"]["scale"]
        for method in ("minmax", "moving_average", "percentile")
    }

    assert steps["moving_average"] < steps["minmax"]
    assert steps["percentile"] < steps["minmax"]


def test_a_node_in_16_bits_is_converted_to_and_from_at_its_borders(tmp_path: Path):
    made = quantized(tmp_path, two_branch(), Quantization(sixteen_bit_nodes=("left/*",)))

    assert made.dtypes()["au"] == "uint8→uint16"
    assert made.dtypes()["l"] == "uint16→uint8"
    assert made.said["operators"]["16"] == {"Sigmoid": 1}


def test_operators_can_be_chosen_for_16_bits(tmp_path: Path):
    made = quantized(tmp_path, two_branch(), Quantization(sixteen_bit_operators=("MatMul",)))

    assert made.dtypes()["a"] == "uint16"
    assert made.said["operators"]["16"] == {"MatMul": 2}


def test_patterns_match_the_names_that_the_user_knows(tmp_path: Path):
    made = quantized(
        tmp_path,
        two_branch(),
        Quantization(sixteen_bit_nodes=("encoder/act",)),
        names={"left/sigmoid": "encoder/act"},
    )

    assert made.said["operators"]["16"] == {"Sigmoid": 1}


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path: Path):
    with pytest.raises(WorkError) as caught:
        quantized(tmp_path, two_branch(), Quantization(sixteen_bit_nodes=("left/sigmoids",)))

    assert caught.value.message == "sixteen_bit: no node of the graph is 'left/sigmoids'"
    assert (caught.value.hint, caught.value.exit_code) == ("did you mean 'left/sigmoid'?", 3)


def test_an_override_of_a_tensors_type_lifts_its_neighbours(tmp_path: Path):
    """The example of onnxruntime's own documents: who makes it, and who reads it."""
    made = quantized(
        tmp_path, two_branch(), Quantization(overrides={"l": {"quant_type": "uint16"}})
    )

    assert made.said["operators"]["16"] == {"Add": 1, "Mul": 1, "Sigmoid": 1}
    assert made.dtypes()["r"] == "uint8→uint16"


def test_a_range_that_is_given_is_used(tmp_path: Path):
    overrides = {"a": {"rmin": -1.0, "rmax": 1.0}}
    made = quantized(tmp_path, two_branch(), Quantization(overrides=overrides))

    assert made.said["tensors"]["a"]["scale"] == pytest.approx(2 / 255, rel=1e-5)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"aa": {"rmin": 0.0, "rmax": 1.0}}, "overrides: no float tensor is named 'aa'"),
        ({"a": {"rmim": 0.0}}, "overrides: 'a': 'rmim' is no override"),
        ({"a": {"rmin": 0.0}}, "overrides: 'a': rmin and rmax come together"),
        ({"a": {"scale": 0.0, "zero_point": 0}},
         "overrides: 'a': the scale must be greater than 0, not 0"),
        ({"a": {"scale": 0.1, "zero_point": 256}},
         "overrides: 'a': the zero point 256 is not in 0 to 255"),
        ({"a": {"axis": 0}}, "overrides: 'a' is no weight: axis and reduce_range are for weights"),
        ({"a": {"quant_type": "int7"}}, "overrides: 'a': 'int7' is no type to quantize to"),
        ({"a": {"scale": 0.1, "zero_point": 0, "symmetric": True}},
         "overrides: 'a': symmetric says nothing beside scale and zero_point"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_told(
    tmp_path: Path, override: dict[str, dict[str, float | str]], message: str
):
    with pytest.raises(WorkError) as caught:
        quantized(tmp_path, two_branch(), Quantization(overrides=override))

    assert (caught.value.message, caught.value.place) == (message, "precision")


def test_a_weight_that_its_scale_cuts_is_told(tmp_path: Path):
    overrides = {"u": {"scale": 0.0005, "zero_point": 0}}
    made = quantized(tmp_path, two_branch(), Quantization(overrides=overrides))

    assert list(made.said["cut_weights"]) == ["u"]
    assert [text.partition("%")[2] for text in made.warnings] == [
        " of the weight 'u' is cut by the range of its scale"
    ]


def test_nodes_that_stay_float_are_in_float16_between_casts(tmp_path: Path):
    made = quantized(tmp_path, two_branch(), Quantization(float_operators=("Sigmoid",)))
    (sigmoid,) = [node for node in made.model.graph.node if node.op_type == "Sigmoid"]
    casts = [node.op_type for node in made.model.graph.node if node.op_type == "Cast"]

    assert made.said["float_nodes"] == ["left/sigmoid"]
    assert (list(sigmoid.input), casts) == (["au_DequantizeLinear_Output_float16"], ["Cast"] * 2)
    assert sqnr(made.said, "sum") >= 30


def test_weights_only_leave_activations_float(tmp_path: Path):
    wanted = Quantization(activations=None, per_channel=False)
    made = quantized(tmp_path, two_branch(), wanted, feeds=False)

    assert made.dtypes() == {"u": "int8", "v": "int8"}
    assert made.said["nodes"] == {"float": 6}
    assert sqnr(made.said, "sum") >= 30


def test_a_quantized_model_is_refused(tmp_path: Path):
    with pytest.raises(WorkError) as caught:
        quantized(tmp_path, tiny_qdq(), feeds=False)

    assert (caught.value.message, caught.value.hint) == (
        "the model is quantized already",
        "precision: qdq takes it as it is",
    )


def test_weights_in_blocks_pass_through(tmp_path: Path):
    made = quantized(tmp_path, with_blocks(), Quantization(weights=4, activations=16))
    (blocks,) = [node for node in made.model.graph.node if node.name == "blocks"]
    (weight,) = [t for t in made.model.graph.initializer if t.name == "q"]

    assert helper.get_node_attr_value(blocks, "block_size") == 16
    assert weight.data_type == onnx.TensorProto.INT4
    assert made.said["weights_quantized_before"] == 2
    assert (made.dtypes()["x"], made.dtypes()["y"]) == ("uint16", "uint16")
    assert sqnr(made.said, "y") >= 50


def test_tensors_that_are_always_0_are_told(tmp_path: Path):
    made = quantized(tmp_path, two_branch(), scale=0.0)

    (told,) = made.warnings

    assert told == (
        "0 in every calibration sample, so that the range is made up: "
        "'a', 'au', 'b', 'bv', 'r' and 1 more"
    )


def test_a_tensor_that_is_not_finite_is_named(tmp_path: Path):
    model = two_branch()
    model.graph.node[1].op_type = "Log"
    with pytest.raises(WorkError) as caught:
        quantized(tmp_path, model)

    assert (caught.value.message, caught.value.place, caught.value.exit_code) == (
        "the tensor 'l' is not finite on the calibration samples", "calibration", 5,
    )  # fmt: skip


def test_a_range_beyond_all_use_is_told(tmp_path: Path):
    model = two_branch()
    made = quantized(tmp_path, model, scale=1e6)

    assert made.warnings[0].startswith("the tensor 'a' reaches 3")


def test_a_bad_file_of_samples_is_named(tmp_path: Path):
    feeds = write_feeds(two_branch(), tmp_path / "feeds")
    (feeds / "000002.npz").write_bytes(b"no zip")
    with pytest.raises(WorkError) as caught:
        list(read_feeds(feed_files(feeds), ["a", "b"]))

    assert caught.value.message == "the sample '000002.npz' is not a whole .npz file"


def test_the_range_of_a_mask_ends_where_a_softmax_sees_nothing_any_more(tmp_path: Path):
    model = two_branch()
    model.graph.initializer.append(
        numpy_helper.from_array(np.array([[0, -3.4e38] * 32], np.float32), "mask")
    )
    nodes = [
        helper.make_node("Add", ["au", "mask"], ["masked"], name="masking"),
        helper.make_node("Softmax", ["masked"], ["l"], name="softmax"),
    ]
    old = [node for node in model.graph.node if node.name != "left/sigmoid"]
    del model.graph.node[:]
    model.graph.node.extend([old[0], *nodes, *old[1:]])
    made = quantized(tmp_path, model)

    assert made.said["masks"] == ["masked", "mask"]
    assert made.said["tensors"]["mask"]["scale"] == pytest.approx(32 / 255, rel=1e-5)
    assert sqnr(made.said, "sum") >= 30
    assert [text[:20] for text in made.warnings] == []


@pytest.mark.parametrize("weights", [8, 4, 16])
def test_a_model_beyond_the_limit_of_one_file_gets_the_same_numbers(
    weights: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its weights are read one after the other from the side file, for which no test has room."""
    size = 160  # more than is taken into the model at once
    random = np.random.default_rng(3)
    wide = model(
        "g (float[1, 160] x) => (float[1, 160] y) {"
        " [first] m = MatMul (x, w) [act] r = Relu (m) [second] y = MatMul (r, v) }",
        w=random.standard_normal((size, size)).astype(np.float32),
        v=random.standard_normal((size, size)).astype(np.float32),
    )
    wide = onnx.shape_inference.infer_shapes(wide)
    wanted = Quantization(weights=weights, activations=16, float_nodes=("second",))
    inside = quantized(tmp_path / "inside", wide, wanted, beside=True)
    for module in (model_bytes, quantize_ort):
        monkeypatch.setattr(module, "INLINE_LIMIT", 1000)
    outside = quantized(tmp_path / "outside", wide, wanted, beside=True)
    stored = [
        {tensor.name: numpy_helper.to_array(tensor).tobytes() for tensor in one.graph.initializer}
        for one in (inside.model, outside.model)
    ]

    assert (outside.run.outputs["model"] / "model.data").exists()
    assert stored[0] == stored[1]
    assert outside.said == inside.said


def test_weights_that_are_constant_nodes_are_weights(tmp_path: Path):
    model = tiny_conv()
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    constants = [
        helper.make_node("Constant", [], [name], name=f"constant/{name}", value=tensor)
        for name, tensor in stored.items()
    ]
    nodes = list(model.graph.node)
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.node.extend([*constants, *nodes])
    made = quantized(tmp_path, model, Quantization(per_channel=True))

    assert made.said["tensors"]["w"]["scales"] == 8
    assert made.dtypes()["b"] == "int32"
