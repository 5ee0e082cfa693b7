"""AIMET's encodings: both forms, the signs of offsets, and what does not match the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qnnbuild.model.recipe import Quantization
from qnnbuild.work.encodings import read_encodings
from qnnbuild.work.run import WorkError
from tests.models import tiny_conv, two_branch
from tests.quantizing import Made, quantized


def old(
    activations: dict[str, Any] | None = None, parameters: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "version": "0.6.1",
        "activation_encodings": activations or {},
        "param_encodings": parameters or {},
    }


def one(offset: int, *, bits: int = 8, scale: float = 0.02, symmetric: bool = False) -> Any:
    return {
        "bitwidth": bits, "dtype": "int", "is_symmetric": str(symmetric), "offset": offset,
        "scale": scale, "min": offset * scale, "max": (offset + 2**bits - 1) * scale,
    }  # fmt: skip


def new(name: str, offsets: list[int], **more: Any) -> dict[str, Any]:
    return {
        "name": name, "bw": 8, "dtype": "INT", "enc_type": "PER_TENSOR", "is_sym": False,
        "offset": offsets, "scale": [0.02] * len(offsets), **more,
    }  # fmt: skip


def newer(activations: list[Any], parameters: list[Any] | None = None) -> dict[str, Any]:
    return {
        "version": "1.0.0",
        "activation_encodings": activations,
        "param_encodings": parameters or [],
    }


def with_encodings(folder: Path, encodings: dict[str, Any], **more: Any) -> Made:
    return quantized(folder, two_branch(), Quantization(), encodings=encodings, **more)


def got(made: Made, tensor: str) -> tuple[str, float, int]:
    said = made.said["tensors"][tensor]
    return said["dtype"], said["scale"], said["zero_point"]


@pytest.mark.parametrize("encodings", [old({"a": [one(-100)]}), newer([new("a", [-100])])])
def test_an_offset_is_the_opposite_of_the_zero_point(tmp_path: Path, encodings: dict[str, Any]):
    assert got(with_encodings(tmp_path, encodings), "a") == ("uint8", 0.02, 100)


@pytest.mark.parametrize("offset", [-128, -127])
def test_a_symmetric_weight_is_signed_with_the_zero_point_0(tmp_path: Path, offset: int):
    made = with_encodings(tmp_path, old(parameters={"u": [one(offset, symmetric=True)]}))

    assert got(made, "u") == ("int8", 0.02, 0)


def test_an_asymmetric_weight_is_unsigned(tmp_path: Path):
    made = with_encodings(tmp_path, newer([], [new("u", [-90])]))

    assert got(made, "u") == ("uint8", 0.02, 90)


def test_the_scale_comes_from_the_range_where_the_file_has_none(tmp_path: Path):
    without = {key: value for key, value in one(-100).items() if key != "scale"}

    assert got(with_encodings(tmp_path, old({"a": [without]})), "a") == ("uint8", 0.02, 100)


@pytest.mark.parametrize(
    "encodings",
    [
        old(parameters={"w": [one(-128, symmetric=True)] * 8}),
        newer([], [new("w", [-128] * 8, enc_type="PER_CHANNEL", is_sym=True)]),
    ],
)
def test_several_scales_are_those_of_output_channels(tmp_path: Path, encodings: dict[str, Any]):
    made = quantized(tmp_path, tiny_conv(), encodings=encodings)
    said = made.said["tensors"]["w"]

    assert (said["scales"], said["axis"], said["dtype"]) == (8, 0, "int8")


def test_an_activation_of_16_bits_makes_its_node_one_of_16_bits(tmp_path: Path):
    made = with_encodings(tmp_path, old({"l": [one(0, bits=16, scale=2**-16)]}))

    assert made.dtypes()["l"] == "uint16→uint8"
    assert made.said["operators"]["16"] == {"Sigmoid": 1}


def test_a_float_encoding_keeps_its_node_float(tmp_path: Path):
    made = with_encodings(
        tmp_path, old({"l": [{"bitwidth": 16, "dtype": "float"}], "a": [one(-100)]})
    )

    assert made.said["float_nodes"] == ["left/sigmoid"]


def test_a_bias_keeps_the_scale_that_its_node_demands(tmp_path: Path):
    parameters = {"b": [one(-(2**31), bits=32, symmetric=True)], "w": [one(-128, symmetric=True)]}
    made = quantized(tmp_path, tiny_conv(), encodings=old(parameters=parameters))

    assert made.said["tensors"]["b"]["dtype"] == "int32"
    assert made.said["tensors"]["b"]["scale"] != 0.02


def test_names_that_the_model_lacks_are_told_with_near_ones(tmp_path: Path):
    made = with_encodings(tmp_path, old({"a": [one(-100)], "product_": [one(0)], "gone": [one(0)]}))

    assert made.warnings[0] == (
        "encodings: 2 names are no tensors of the prepared model: 'product_', 'gone'; "
        "for 'product_', did you mean 'product'?"
    )
    assert made.said["unknown_encodings"] == ["product_", "gone"]


def test_tensors_that_the_file_lacks_are_told_and_calibrated(tmp_path: Path):
    made = with_encodings(tmp_path, old({"a": [one(-100)]}))

    (told,) = made.warnings

    assert told == (
        "encodings: 7 tensors are not in the file and are calibrated: "
        "'au', 'b', 'bv', 'l', 'product'"
    )


def test_a_whole_file_needs_no_samples(tmp_path: Path):
    every = {name: [one(-128)] for name in ("a", "au", "b", "bv", "l", "product", "r", "sum")}
    made = with_encodings(tmp_path, old(every), feeds=False)

    assert made.said["samples"] == 0
    assert {got(made, name) for name in every} == {("uint8", 0.02, 128)}


def test_what_is_missing_needs_samples(tmp_path: Path):
    with pytest.raises(WorkError) as caught:
        with_encodings(tmp_path, old({"a": [one(-100)]}), feeds=False)

    assert caught.value.message == (
        "not all tensors have an encoding, and there are no samples for the others"
    )


@pytest.mark.parametrize(
    ("encodings", "message"),
    [
        ({"encodings": []}, "the file has no version and no encodings"),
        ({"version": "2.0.0", "activation_encodings": [], "param_encodings": []},
         "its form is 2.0.0"),
        (old({"a": [one(5)]}), "the offset 5 of 'a' is not from -255 to 0"),
        (old({"a": [one(-9, scale=0.0)]}), "a scale of 'a' is not greater than 0"),
        (old({"a": [one(-9, bits=4)]}), "'a' has 4 bits, an activation has 8 or 16"),
        (newer([], [new("u", [-8] * 4, enc_type="LPBQ")]), "'u' is encoded in blocks (LPBQ)"),
        (newer([], [new("u", [-128] * 4, enc_type="PER_CHANNEL", is_sym=True)]),
         "'u' has 64 channels and 4 scales"),
        (old({"other": [one(0)]}), "not one of its names is a tensor of the model"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told(tmp_path: Path, encodings: dict[str, Any], message: str):
    with pytest.raises(WorkError) as caught:
        with_encodings(tmp_path, encodings)

    assert caught.value.message == f"encodings: {message}"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        (
            '{"version": "0.6.1", "activation_encodings": {"x": [{"bitwidth": 0, "min": 0, '
            '"max": 1, "offset": 0}]}, "param_encodings": {}}'
        ),
        (
            '{"version": "1.0.0", "activation_encodings": [{"name": "x", "bw": 1e999, '
            '"scale": [1], "offset": [0]}], "param_encodings": []}'
        ),
        '{"version": "0.6.1", "activation_encodings": {"x": []}, "param_encodings": {}}',
    ],
)
def test_numbers_without_bounds_are_told(tmp_path, text):
    (tmp_path / "a.encodings").write_text(text)
    with pytest.raises(WorkError) as caught:
        read_encodings(tmp_path)

    assert caught.value.message.startswith("encodings: ")
