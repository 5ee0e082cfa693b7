"""What the SDK's converter says of inputs and outputs."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.work.qairt_border import border


def net(**tensor: Any) -> dict[str, Any]:
    usual = {"type": 0, "data_type": 0x0232, "dims": [1, 8, 6]}
    return {"graph": {"tensors": {"x": {**usual, **tensor}, "w": {"type": 4, "dims": [2]}}}}


def only(**tensor: Any) -> dict[str, Any]:
    (found,) = border(net(**tensor))["inputs"]
    return found


def test_inputs_and_outputs_are_told_and_nothing_else() -> None:
    assert border(net()) == {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 8, 6]}],
        "outputs": [],
    }
    assert border(net(type=1))["outputs"][0]["name"] == "x"


def test_a_scale_is_told_where_it_is_defined() -> None:
    scale = {"scale": 0.5, "offset": -3, "bitwidth": 16}

    told = only(data_type=0x0416, quant_params={"definition": 1, "scale_offset": scale})
    undefined = only(quant_params={"definition": 2147483647, "scale_offset": scale})

    assert (told["dtype"], told["scale"], told["offset"]) == ("uint16", 0.5, -3)
    assert "scale" not in undefined


def test_the_order_says_which_dimension_of_the_onnx_file_each_one_is() -> None:
    """permute_order_to_src leads back: [0, 2, 3, 1] was NHWC made of NCHW the other way round."""
    assert only(dims=[1, 4, 5, 3], permute_order_to_src=[0, 3, 1, 2])["order"] == [0, 2, 3, 1]
    assert "order" not in only(permute_order_to_src=[0, 0, 1])


@pytest.mark.parametrize(("code", "told"), [(0x0999, "0x0999"), (None, "unknown")])
def test_a_type_that_nobody_knows_is_told_as_it_is(code: int | None, told: str) -> None:
    assert only(data_type=code)["dtype"] == told


def test_older_versions_have_another_word_for_sizes() -> None:
    found = only(dims=None, current_dims=[7])

    assert found["shape"] == [7]
