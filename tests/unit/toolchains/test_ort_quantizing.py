"""The toolchain ort quantizes where a recipe says so, and refuses what no chip takes."""

from __future__ import annotations

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import FileSource, Graph, Quantization
from qnnbuild.toolchains.ortqnn import OrtQnn
from tests.quantizing import params

ORT = OrtQnn()


def graph(wanted: Quantization | None, *, auto_from: tuple[str, ...] = ()) -> Graph:
    return Graph(
        name="vad", source=FileSource(file="vad.onnx"), precision="w8a8", quantization=wanted,
        auto_from=auto_from,
    )  # fmt: skip


def test_a_quantized_precision_is_quantized():
    wanted = Quantization(float_nodes=("head/*",), overrides={"a": {"rmin": 0.0, "rmax": 1.0}})
    work = ORT.convert(graph(wanted))

    assert work.call == "qnnbuild.work.quantize_ort:quantize"
    assert work.outputs == ("model", "quantization")
    assert work.params == params(wanted)


def test_the_name_of_the_encodings_file_is_not_in_the_key():
    with_file = ORT.convert(graph(Quantization(encodings="a.json")))

    assert with_file.params == ORT.convert(graph(Quantization())).params


def test_a_search_is_not_one_quantization():
    work = ORT.convert(graph(Quantization(), auto_from=("w8a8",)))

    assert work.call == "qnnbuild.work.convert_ort:convert"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Quantization(activations=None, per_channel=True),
         "'vad' cannot be w8a8: weights beside float activations have one scale"),
        (Quantization(bias=8),
         ("'vad' cannot be w8a8: a bias has the scale of its node's input times its weight's, "
          "in 32 bits")),
    ],
)  # fmt: skip
def test_what_no_chip_takes_is_refused(wanted: Quantization, message: str):
    (problem,) = ORT.problems(graph(wanted), packaged_chips()["SM8750"])

    assert problem.message == message
