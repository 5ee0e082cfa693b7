"""The routes over a DLC: command lines flag by flag, by version, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.precisions import WORDS
from qnnbuild.model.recipe import (
    ContextOptions,
    FileSource,
    Graph,
    InputSpec,
    OutputSpec,
    Quantization,
    Samples,
)
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.qairt import Qairt
from qnnbuild.toolchains.qairt_dlc import converter, quantizer
from qnnbuild.toolchains.qairt_routes import ROUTES, sections_of

CHIP = packaged_chips()["SM8750"]
OLDER, OLD, NEW = "2.26", "2.40", "2.49"
AT = Span(file="r.yaml", line=1, column=1)


def graph(precision: str = "w8a16", route: str = "dlc", *, ort: Any = None, **parts: Any) -> Graph:
    quantization = WORDS[precision]
    options: dict[str, Any] = {"qairt": {"route": route, **parts}}
    return Graph(
        name="enc-1",
        source=FileSource(file="m.onnx"),
        inputs={
            "x": InputSpec(dtype="float32", layout="NTF"),
            "mask": InputSpec(dtype="int32", layout=None),
        },
        outputs={"y": OutputSpec(), "z": OutputSpec()},
        precision=precision,
        quantization=quantization,
        calibration=Samples(files=("calib/*.npz",)) if quantization else None,
        options=options if ort is None else {**options, "ort": ort},
        places={"graph": AT, "options": AT},
    )


def with_encodings(*, samples: bool, **quantizer_options: Any) -> Graph:
    one = graph(quantizer=quantizer_options)
    return Graph(
        name="m",
        source=one.source,
        precision="w",
        quantization=Quantization(weights=8, activations=16, encodings="e.json"),
        calibration=one.calibration if samples else None,
        options=one.options,
        places=one.places,
    )


def said(one: Graph, version: str = OLD, chip: str = "SM8750") -> list[str]:
    sdk = Qairt(Sdk(name=f"qairt-{version}", root="sdk"))
    found = sdk.problems(one, packaged_chips()[chip], ContextOptions())
    return [f"{problem.message} | {problem.hint}" for problem in found]


# --- command lines ----------------------------------------------------------------------------

CONVERTED = """
--input_network {in.model}/model.onnx --output_path {out.model}/enc_1.dlc
--out_tensor_node y --out_tensor_node z
--source_model_input_datatype x float32 --source_model_input_datatype mask int32
--source_model_input_layout x NTF
"""
QUANTIZED = """
--input_dlc {in.model}/enc_1.dlc --output_dlc {out.model}/enc_1.dlc
--input_list input_list.txt --use_native_input_files
--act_bitwidth 16 --weights_bitwidth 8 --bias_bitwidth 32
"""


@pytest.mark.parametrize("version", [OLDER, OLD, NEW])
def test_the_converter_knows_no_width(version: str) -> None:
    for precision in ("w8a16", "w8a8", "fp32"):
        assert converter(graph(precision), version).params["argv"] == CONVERTED.split()


def test_fp16_is_a_width_of_the_converter() -> None:
    words = converter(graph("fp16"), OLD).params["argv"]

    assert words == [*CONVERTED.split(), "--float_bitwidth", "16"]


@pytest.mark.parametrize("version", [OLDER, OLD, NEW])
def test_the_quantizer_measures_the_samples_in_their_own_types(version: str) -> None:
    assert quantizer(graph(), version).params["argv"] == QUANTIZED.split()


def test_encodings_are_for_the_converter_and_floats_for_what_has_none() -> None:
    one = with_encodings(samples=False, enable_float_fallback=True)

    assert converter(one, OLD).params["argv"] == [
        *("--input_network", "{in.model}/model.onnx", "--output_path", "{out.model}/m.dlc"),
        *("--quantization_overrides", "{encodings}"),
    ]
    assert quantizer(one, OLD).params["argv"] == [
        *("--input_dlc", "{in.model}/m.dlc", "--output_dlc", "{out.model}/m.dlc"),
        *("--act_bitwidth", "16", "--weights_bitwidth", "8", "--bias_bitwidth", "32"),
        "--enable_float_fallback",
    ]


SPELLED = [
    ("converter", {"onnx_skip_simplification": True}, "--onnx_no_simplification",
     "--onnx_skip_simplification"),
    ("converter", {"onnx_override_batch": 2}, "--onnx_batch 2", "--onnx_override_batch 2"),
    ("converter", {"set_model_version": "1"}, "--model_version 1", "--set_model_version 1"),
    ("converter", {"onnx_define_symbol": {"N": 4, "T": 10}},
     "--onnx_define_symbol N 4 --onnx_define_symbol T 10",
     "--onnx_define_symbol N 4 --onnx_define_symbol T 10"),
    ("converter", {"preserve_io_datatype": True}, "--preserve_io_datatype",
     "--preserve_io_datatype"),
    ("converter", {"preserve_io_datatype": ["x", "y"]}, "--preserve_io_datatype x y",
     "--preserve_io_datatype x y"),
    ("converter", {"export_format": "DLC_DEFAULT", "float_bias_bitwidth": 0}, "", ""),
    ("quantizer", {"apply_algorithms": "cle"}, "--algorithms cle", "--apply_algorithms cle"),
    ("quantizer", {"ignore_quantization_overrides": True}, "--ignore_encodings",
     "--ignore_quantization_overrides"),
    ("quantizer", {"enable_float_fallback": True}, "--float_fallback", "--enable_float_fallback"),
    ("quantizer", {"act_quantizer_schema": "symmetric", "use_per_channel_quantization": True},
     "--act_quantizer_schema symmetric --use_per_channel_quantization",
     "--act_quantizer_schema symmetric --use_per_channel_quantization"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "options", "old", "new"), SPELLED)
def test_a_version_has_its_own_spelling(part: str, options: Any, old: str, new: str) -> None:
    tool, plain = {"converter": (converter, CONVERTED), "quantizer": (quantizer, QUANTIZED)}[part]
    words = {
        version: tool(graph(**{part: options}), version).params["argv"]
        for version in (OLDER, OLD, NEW)
    }

    assert words[OLDER] == [*plain.split(), *old.split()]
    assert words[OLD] == words[NEW] == [*plain.split(), *new.split()]


# --- what is in an action ---------------------------------------------------------------------

SDK = Qairt(Sdk(name="qairt-2.40", root="sdk"))


def test_a_width_or_a_calibration_changes_the_quantizer_alone() -> None:
    assert SDK.unquantized(graph("w8a8")) == SDK.unquantized(graph("w8a16"))
    assert SDK.convert(graph("w8a8")) != SDK.convert(graph("w8a16"))
    assert SDK.unquantized(graph("fp16")) is None
    assert SDK.convert(graph("fp16")).outputs == ("model",)


def test_a_dlc_needs_no_library_and_is_compiled_by_its_name() -> None:
    work = SDK.context(graph(), CHIP, ContextOptions())
    htp: Any = work.params["htp"]

    assert SDK.libraries(graph()) == {}
    assert work.params["dlc"] is True
    assert work.tools == ("qairt:qairt-2.40/context", "qairt:qairt-2.40/dlc-library")
    assert not work.takes_names
    assert htp["graphs"][0]["graph_names"] == ["enc_1"]
    assert "dlc" not in SDK.context(graph(route="cpp"), CHIP, ContextOptions()).params


def test_what_ort_converts_is_its_own_work_and_its_dlc_knows_no_sdk() -> None:
    one = graph(route="ort-dlc", ort={"skip_backend_op_validation": 1})

    work = SDK.lowered(one)

    assert SDK.convert(one) == OrtQnn().convert(one)
    assert work is not None
    assert work.params == {
        "graph": "enc-1", "stem": "enc_1", "options": {"skip_backend_op_validation": "1"},
    }  # fmt: skip
    members: Any = SDK.context(one, CHIP, ContextOptions()).params["members"]
    assert members[0]["named_by_dlc"] is True
    assert [SDK.lowered(graph(route=route)) for route in ("cpp", "dlc")] == [None, None]


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("precision", ["fp16", "w8a16", "w8a8"])
def test_these_precisions_work_on_every_route(route: str, precision: str) -> None:
    assert said(graph(precision, route)) == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"route": "dcl"},
            (
                "'dcl' is no route from a model to a context | did you mean 'dlc'? "
                "routes: cpp, dlc, ort-dlc"
            ),
        ),
        (
            {"converter": {"onnx_no_simplification": True}},
            (
                "onnx_no_simplification is called onnx_skip_simplification | write "
                "onnx_skip_simplification"
            ),
        ),
        (
            {"converter": {"onnx_skip_simplifications": True}},
            (
                "options.qairt.converter has no option 'onnx_skip_simplifications' | did you mean "
                "'onnx_skip_simplification'?"
            ),
        ),
        (
            {"converter": {"use_per_channel_quantization": True}},
            (
                "options.qairt.converter has no option 'use_per_channel_quantization' | it stands "
                "under options.qairt.quantizer"
            ),
        ),
        (
            {"converter": {"target_soc_model": "SM8750"}},
            (
                "target_soc_model is not an option here | chips: says it, and counts "
                "when a context "
                "is compiled"
            ),
        ),
        (
            {"quantizer": {"act_bitwidth": 8}},
            "act_bitwidth is not an option here | precision: w8a16",
        ),
        (
            {"library": {"targets": ["aarch64-android"]}},
            (
                "with route: dlc there is no part 'library' | route: cpp has one; parts here: "
                "converter, quantizer, htp, extensions"
            ),
        ),
        (
            {"converter": {"preserve_onnx_output_order": True}},
            (
                "preserve_onnx_output_order came with 2.45; the SDK is 2.40 | leave it "
                "out, or take a "
                "newer SDK"
            ),
        ),
        (
            {"quantizer": {"enable_float_fallback": True}},
            (
                "enable_float_fallback wants encodings and no calibration | leave it out, or leave "
                "'calibration' out and say precision: {encodings: …}"
            ),
        ),
        (
            {"quantizer": {"preserve_io_datatype": "x"}},
            (
                "preserve_io_datatype: 'x' is no list of names | preserve_io_datatype: "
                "true, or names: "
                "inputs and outputs keep the type of the float DLC"
            ),
        ),
    ],
)
def test_a_mistake_is_told_with_what_to_write(parts: Any, message: str) -> None:
    assert said(graph(**parts)) == [message]


def test_the_quantizer_of_the_other_route_is_told_where_it_is() -> None:
    (told,) = said(graph(route="cpp", quantizer={"apply_algorithms": "cle"}))

    assert told.startswith("with route: cpp there is no part 'quantizer' | route: dlc has one")


def test_nothing_is_quantized_without_samples_or_encodings() -> None:
    assert said(with_encodings(samples=True)) == []
    assert said(with_encodings(samples=False, enable_float_fallback=True)) == []
    assert said(with_encodings(samples=False)) == [
        (
            "qairt-quantizer needs samples to quantize 'm' | calibration: …, or options: {qairt: "
            "{quantizer: {enable_float_fallback: true}}}"
        )
    ]
    assert said(with_encodings(samples=True, ignore_quantization_overrides=True)) == [
        "ignore_quantization_overrides cannot stand beside encodings | leave one of the two out"
    ]
    assert said(graph("fp16", quantizer={"apply_algorithms": "cle"})) == [
        (
            "nothing is quantized: 'enc-1' is fp16 | precision: w8a16 with "
            "calibration, or leave the "
            "quantizer's options out"
        )
    ]


def test_ranges_are_said_to_the_tool_that_finds_them() -> None:
    one = with_encodings(samples=True)
    quantization = Quantization(weights=8, activations=16, method="entropy")
    other = Graph(
        name="m", source=one.source, precision="w", quantization=quantization,
        calibration=one.calibration, options=one.options,
    )  # fmt: skip

    (told,) = said(other)

    assert told.endswith("options: {qairt: {quantizer: {act_quantizer_calibration: …}}}")


def test_a_dlc_of_the_plugin_is_limited_as_the_toolchain_ort_is() -> None:
    assert said(graph("bf16", "ort-dlc")) == [
        "bf16 cannot go through a DLC | precision: fp16, qdq, or w8a16 with calibration"
    ]
    (wide,) = said(graph("w16a16", "ort-dlc"), chip="SM8450")
    assert "weights and activations of 16 bits together" in wide
    assert said(graph(route="ort-dlc", converter={"algorithms": "cle"})) == [
        (
            "with route: ort-dlc there is no part 'converter' | route: cpp has one; parts here: "
            "htp, extensions"
        )
    ]
    assert said(graph(route="ort-dlc", ort={"vtcm_mb": 4})) == [
        (
            "vtcm_mb changes no DLC: the SDK compiles it | options: {qairt: {htp: "
            "…}}; of ort count "
            "enable_htp_monolithic_lstm, skip_backend_op_validation"
        )
    ]


def test_one_binary_is_of_libraries_or_of_dlcs() -> None:
    both = [graph(route="dlc"), graph(route="ort-dlc")]
    assert [p.message for p in SDK.sharing_problems([graph(), graph(route="cpp")])][:1] == [
        "libraries and DLCs cannot be compiled into one binary"
    ]
    assert all("libraries" not in p.message for p in SDK.sharing_problems(both))


# --- the data ---------------------------------------------------------------------------------


def test_every_option_says_what_it_is_about_and_no_two_have_a_name_in_common() -> None:
    for name, options in sections_of("dlc").items():
        if name not in ("converter", "quantizer"):
            continue
        spelled = [word for o in options.values() for word in (o.name, *o.was, o.old) if word]
        assert len(spelled) == len(set(spelled)), name
        assert all(o.about or o.said_by for o in options.values())
