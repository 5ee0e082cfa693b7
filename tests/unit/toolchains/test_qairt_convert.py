"""qnn-onnx-converter's command line, family by family, as the published models were converted."""

from __future__ import annotations

import pytest

from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.precisions import WORDS
from qnnbuild.model.recipe import FileSource, Graph, InputSpec, OutputSpec, Quantization, Samples
from qnnbuild.toolchains.qairt_convert import command, precision_problems

NEW, OLD = packaged_chips()["SM8750"], packaged_chips()["SM8350"]


def graph(name: str, precision: str = "w8a16", **more: object) -> Graph:
    quantization = WORDS[precision]
    return Graph(
        name=name,
        source=FileSource(file="m.onnx"),
        precision=precision,
        quantization=quantization,
        calibration=Samples(files=("calib/*.npz",)) if quantization else None,
        places={"precision": Span(file="r.yaml", line=3, column=1)},
        **more,  # type: ignore[arg-type]  # fields of Graph
    )


def inputs(**given: tuple[str, str | None]) -> dict[str, InputSpec]:
    return {name: InputSpec(dtype=dtype, layout=layout) for name, (dtype, layout) in given.items()}


SENSE_VOICE = """
--input_network {in.model}/model.onnx --output_path {out.model}/model.cpp
--out_node logits --input_list input_list.txt --use_native_input_files
--input_dtype x float32 --input_dtype prompt int32 --act_bitwidth 16 --bias_bitwidth 32
--input_layout x NTF
"""
ZIPFORMER_CTC = """
--input_network {in.model}/model.onnx --output_path {out.model}/model.cpp
--out_node log_probs --input_list input_list.txt --use_native_input_files
--input_dtype x float32 --act_bitwidth 16 --bias_bitwidth 32 --input_layout x NTF
"""
PARAFORMER_ENCODER = """
--input_network {in.model}/model.onnx --output_path {out.model}/encoder.cpp
--out_node encoder_out --input_list input_list.txt --use_native_input_files
--input_dtype x float32 --act_bitwidth 16 --bias_bitwidth 32 --input_layout x NTF
"""
PARAFORMER_PREDICTOR = """
--input_network {in.model}/model.onnx --output_path {out.model}/predictor.cpp
--input_list input_list.txt --use_native_input_files
--input_dtype encoder_out float32 --act_bitwidth 16 --bias_bitwidth 32
"""
PARAFORMER_DECODER = """
--input_network {in.model}/model.onnx --output_path {out.model}/decoder.cpp
--input_list input_list.txt --use_native_input_files --input_dtype encoder_out float32
--input_dtype acoustic_embedding float32 --input_dtype mask int32
--act_bitwidth 16 --bias_bitwidth 32
"""
FLOAT = """
--input_network {in.model}/model.onnx --output_path {out.model}/encoder.cpp
--act_bitwidth 16 --bias_bitwidth 32
"""
PARAKEET = """
--input_network {in.model}/model.onnx --output_path {out.model}/encoder.cpp
--input_list input_list.txt --use_native_input_files --act_bitwidth 16 --bias_bitwidth 32
"""
NEMOTRON_DECODER = """
--input_network {in.model}/model.onnx --output_path {out.model}/decoder.cpp
--float_bitwidth 16 --act_bitwidth 16 --bias_bitwidth 32
"""
MASK = ("int32", None)
FLOATS = ("float32", None)
FAMILIES = {
    "sense-voice": (
        graph(
            "model",
            inputs=inputs(x=("float32", "NTF"), prompt=("int32", None)),
            outputs={"logits": OutputSpec()},
        ),
        SENSE_VOICE,
    ),
    "zipformer-ctc": (
        graph("model", inputs=inputs(x=("float32", "NTF")), outputs={"log_probs": OutputSpec()}),
        ZIPFORMER_CTC,
    ),
    "paraformer encoder": (
        graph(
            "encoder", inputs=inputs(x=("float32", "NTF")), outputs={"encoder_out": OutputSpec()}
        ),
        PARAFORMER_ENCODER,
    ),
    "paraformer predictor": (
        graph("predictor", inputs=inputs(encoder_out=FLOATS)),
        PARAFORMER_PREDICTOR,
    ),
    "paraformer decoder": (
        graph(
            "decoder",
            inputs=inputs(encoder_out=FLOATS, acoustic_embedding=FLOATS, mask=MASK),
        ),
        PARAFORMER_DECODER,
    ),
    "whisper, zipformer-transducer, x-asr": (graph("encoder", "fp32"), FLOAT),
    "parakeet and moonshine encoder": (graph("encoder"), PARAKEET),
    "parakeet-tdt and nemotron decoder": (graph("decoder", "fp16"), NEMOTRON_DECODER),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_converted_as_it_is_published(family: str) -> None:
    one, published = FAMILIES[family]

    assert list(command(one)) == published.split()


@pytest.mark.parametrize(
    ("quantization", "flags"),
    [
        (Quantization(weights=8, activations=8), "--act_bitwidth 8 --bias_bitwidth 32"),
        (
            Quantization(weights=4, activations=16, bias=8),
            "--act_bitwidth 16 --weights_bitwidth 4 --bias_bitwidth 8",
        ),
    ],
)
def test_a_precision_is_widths(quantization: Quantization, flags: str) -> None:
    one = Graph(
        name="m", source=FileSource(file="m.onnx"), precision="w", quantization=quantization
    )

    assert " ".join(command(one)[4:]) == flags


def test_encodings_are_an_input_and_need_no_samples() -> None:
    quantization = Quantization(weights=8, activations=16, encodings="e.json")
    one = Graph(
        name="m", source=FileSource(file="m.onnx"), precision="w", quantization=quantization
    )

    words = command(one)

    assert words[4:6] == ("--quantization_overrides", "{encodings}")
    assert "--input_list" not in words


def test_options_come_last_and_defaults_not_at_all() -> None:
    options = {
        "converter": {
            "define_symbol": {"N": 4, "T": 10},
            "algorithms": "cle",
            "use_per_channel_quantization": True,
            "no_simplification": False,
            "preserve_io_layout": ["x", "y"],
            "act_quantizer": "tf",
        }
    }
    one = graph("m", options={"qairt": options})

    assert " ".join(command(one)[11:]) == (
        "--algorithms cle --define_symbol N 4 --define_symbol T 10 --preserve_io layout x y "
        "--use_per_channel_quantization"
    )


def said(one: Graph, version: str = "2.40") -> list[str]:
    return [p.message for p in precision_problems(one, NEW, version)]


@pytest.mark.parametrize("precision", ["fp32", "fp16", "w8a8", "w8a16", "w4a16"])
def test_these_precisions_work(precision: str) -> None:
    assert said(graph("m", precision)) == []


def test_floats_need_a_chip_with_fp16() -> None:
    (problem,) = precision_problems(graph("m", "fp32"), OLD, "2.40")

    assert problem.message == "'m' cannot be fp32 on SM8350: it has no fp16"
    assert problem.hint is not None
    assert "only: {SM8350: {precision: w8a16}}" in problem.hint


def test_other_precisions_are_refused() -> None:
    assert said(graph("m", "bf16")) == ["the SDK's converter makes no bf16 of 'm'"]
    assert said(graph("m", "w8")) == [
        "'m' cannot be w8: the SDK's converter quantizes weights and activations"
    ]
    assert said(graph("m", "w16a16")) == [
        "'m' cannot be w16a16: weights of 16 bits came with 2.42; the SDK is 2.40"
    ]
    assert said(graph("m", "w16a16"), "2.42") == []


@pytest.mark.parametrize(
    ("precision", "words", "hint"),
    [
        ("qdq", (), "options: {qairt: {route: ort-dlc}}"),
        ("auto", ("w8a8", "w8a16"), "toolchain: ort searches"),
        ("bf16", (), "precision: fp16, or w8a16 with calibration"),
    ],
)
def test_what_the_tools_do_not_make_is_told_with_what_does(
    precision: str, words: tuple[str, ...], hint: str
) -> None:
    one = Graph(name="m", source=FileSource(file="m.onnx"), precision=precision, auto_from=words)

    (problem,) = precision_problems(one, NEW, "2.40")

    assert problem.message == f"the SDK's converter makes no {precision} of 'm'"
    assert hint in (problem.hint or "")


def test_what_the_converter_says_otherwise_is_told_how() -> None:
    quantization = Quantization(weights=8, activations=16, method="entropy")
    one = Graph(
        name="m", source=FileSource(file="m.onnx"), precision="w8a16-x", quantization=quantization
    )

    (problem,) = precision_problems(one, NEW, "2.40")

    assert problem.hint == "options: {qairt: {converter: {act_quantizer_calibration: …}}}"
