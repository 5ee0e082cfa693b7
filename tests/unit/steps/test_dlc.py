"""dlc: floats before they are quantized, and what a compile reads of what was converted."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import OutputOf, SourceFiles
from qnnbuild.model.recipe import Graph, Quantization, Samples
from qnnbuild.model.sdks import Sdk
from qnnbuild.steps.convert import convert
from qnnbuild.steps.dlc import lowered, unquantized
from qnnbuild.toolchains.qairt import Qairt
from tests.unit.steps.test_library import GRAPH, TARGET

SDK = Qairt(Sdk(name="qairt-2.40", root="sdk"))


def graph(route: str, encodings: str | None = None) -> Graph:
    return replace(
        GRAPH,
        precision="w8a16",
        quantization=Quantization(weights=8, activations=16, encodings=encodings),
        calibration=Samples(files=("a.npz",)),
        options={"qairt": {"route": route}},
    )


def test_encodings_go_into_the_floats_and_not_into_what_quantizes_them() -> None:
    one = graph("dlc", "e.json")
    work = SDK.unquantized(one)
    assert work is not None

    floats = unquantized(TARGET, one, work, prepared="prepare/m", own={}, name="dlc/m")
    quantized = convert(
        TARGET, one, SDK, "prepare/m", calibrated="calibrate/m", unquantized="dlc/m", name="c"
    )

    assert floats.inputs == {
        "model": OutputOf(action="prepare/m", output="model"),
        "encodings": SourceFiles(patterns=("e.json",)),
    }
    assert quantized.inputs == {
        "model": OutputOf(action="dlc/m", output="model"),
        "feeds": OutputOf(action="calibrate/m", output="feeds"),
    }
    assert (floats.step, quantized.step) == ("dlc", "convert")
    assert floats.tools == ("qairt:qairt-2.40/dlc-converter", "package:numpy")
    assert quantized.tools == ("qairt:qairt-2.40/quantizer", "package:numpy")
    assert floats.passes == quantized.passes == ("QNNBUILD_SDK_2_40",)


def test_what_ort_has_converted_becomes_a_dlc_without_the_sdk() -> None:
    one = graph("ort-dlc")
    work = SDK.lowered(one)
    assert work is not None

    made = lowered(TARGET, one, work, converted="convert/m", name="dlc/m+w8a16")

    assert made.inputs == {"model": OutputOf(action="convert/m", output="model")}
    assert "package:onnxruntime-qnn" in made.tools
    assert not any(tool.startswith("qairt:") for tool in made.tools)
    assert made.passes == ()
    assert made.about == "encoder as w8a16, a DLC"
