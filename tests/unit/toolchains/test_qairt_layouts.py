"""Layouts that a recipe changes on the way into a DLC: what is told of them, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.precisions import WORDS
from qnnbuild.model.recipe import (
    ContextOptions,
    FileSource,
    Graph,
    InputSpec,
    OutputSpec,
    Samples,
)
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.qairt import Qairt

CHIP = packaged_chips()["SM8750"]
SDK = Qairt(Sdk(name="qairt-2.40", root="sdk"))


def moved(precision: str = "fp16", route: str = "dlc", **converter: Any) -> Graph:
    quantization = WORDS[precision]
    options: Any = {"qairt": {"route": route, "converter": converter}}
    return Graph(
        name="enc",
        source=FileSource(file="m.onnx"),
        inputs={"x": InputSpec(dtype="float32", layout="NTF"), "mask": InputSpec(dtype="int32")},
        outputs={"y": OutputSpec()},
        precision=precision,
        quantization=quantization,
        calibration=Samples(files=("calib/*.npz",)) if quantization else None,
        options=options,
    )


def said(one: Graph) -> list[str]:
    return [f"{told.message} | {told.hint}" for told in SDK.problems(one, CHIP)]


def test_layouts_that_the_recipe_changes_are_told_with_the_binary() -> None:
    one = moved(
        desired_input_layout={"x": "TNF"},
        source_model_output_layout={"y": "NCHW"},
        desired_output_layout={"y": "NHWC"},
    )

    members: Any = SDK.context(one, CHIP, ContextOptions()).params["members"]
    plain: Any = SDK.context(moved(), CHIP, ContextOptions()).params["members"]

    assert said(one) == []
    assert members[0]["orders"] == {"x": [1, 0, 2], "y": [0, 2, 3, 1]}
    assert "orders" not in plain[0]


@pytest.mark.parametrize(
    ("converter", "message"),
    [
        (
            {"desired_input_layout": {"mask": "NF"}},
            (
                "desired_input_layout of 'mask' is NF, and nothing says how it lies in the ONNX "
                "file | inputs: {mask: {layout: …}}"
            ),
        ),
        (
            {"desired_input_layout": {"x": "NFC"}},
            (
                "'x' cannot be NFC in the DLC: it is NTF in the ONNX file | desired_input_layout "
                "wants the same letters in another order"
            ),
        ),
        (
            {"desired_output_layout": {"y": "NHWC"}},
            (
                "desired_output_layout of 'y' is NHWC, and nothing says how it lies in the ONNX "
                "file | options: {qairt: {converter: {source_model_output_layout: {y: …}}}}"
            ),
        ),
    ],
)
def test_a_layout_whose_order_nobody_knows_is_refused(converter: Any, message: str) -> None:
    assert said(moved(**converter)) == [message]


def test_samples_are_not_for_inputs_that_are_laid_out_otherwise() -> None:
    (told,) = said(moved("w8a16", desired_input_layout={"x": "TNF"}))

    assert told.startswith("desired_input_layout and calibration cannot stand together")
    assert said(moved("fp16", desired_input_layout={"x": "TNF"})) == []
