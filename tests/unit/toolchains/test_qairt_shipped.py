"""What a bundle tells of how the SDK made its graphs, route by route."""

from __future__ import annotations

from typing import Any

from qnnbuild.toolchains.qairt_shipped import sdk_part
from tests.unit.toolchains.test_qairt_dlc import graph


def test_the_usual_route_tells_the_converters_words() -> None:
    told = sdk_part(graph(route="cpp"), "qairt-2.40")

    assert (list(told), told["route"]) == (["graph", "route", "converter"], "cpp")
    words: Any = told["converter"]
    assert words[:4] == ["--input_network", "model.onnx", "--output_path", "enc-1.cpp"]


def test_a_dlc_tells_both_tools_in_the_versions_own_words() -> None:
    one = graph(converter={"onnx_skip_simplification": True})

    told = sdk_part(one, "qairt-2.26")

    assert (told["graph"], told["route"]) == ("enc_1", "dlc")
    converter: Any = told["converter"]
    quantizer: Any = told["quantizer"]
    assert converter[-1] == "--onnx_no_simplification"
    assert quantizer[:2] == ["--input_dlc", "enc_1.dlc"]
    assert "quantizer" not in sdk_part(graph("fp16"), "qairt-2.40")


def test_a_dlc_of_the_plugin_has_no_words_of_the_sdk() -> None:
    assert sdk_part(graph(route="ort-dlc"), "qairt-2.40") == {"graph": "enc_1", "route": "ort-dlc"}
