"""qnn-onnx-converter as a recipe wants it: its precision, its command line. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Chip, Graph, Quantization
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_op_packages import converter_words, measuring_words
from qnnbuild.toolchains.qairt_options import CONVERTER, Option, data, given, has

INPUT_LIST = "input_list.txt"
"""Written by the work itself, beside the samples that it lists."""

FLOATS = ("fp32", "fp16")
WIDE_WEIGHTS_SINCE = "2.42"
DEFAULT_WEIGHTS = 8
"""What the converter takes without --weights_bitwidth."""

FLOAT_WIDTHS = ("--act_bitwidth", "16", "--bias_bitwidth", "32")
"""Without samples they do nothing; the float models that are published were converted with them."""

SAID = {
    "method": "act_quantizer_calibration",
    "percentile": "percentile_calibration_value",
    "symmetric_weights": "param_quantizer_schema: asymmetric",
    "symmetric_activations": "act_quantizer_schema: symmetric",
}
"""What a precision's mapping says for the toolchain ort → the converter's own option."""

ENCODED = (
    *("sixteen_bit_operators", "sixteen_bit_nodes", "float_operators", "float_nodes", "overrides"),
)
"""What only a file of encodings can tell the converter."""


def command(graph: Graph) -> tuple[str, ...]:
    """The converter's words behind its own name, with places for what only the runner knows."""
    stem = names_of(graph).stem
    words = [
        "--input_network",
        "{in.model}/model.onnx",
        "--output_path",
        f"{{out.model}}/{stem}.cpp",
    ]
    for name in graph.outputs:
        words += ["--out_node", name]
    words += _measured(graph)
    for name, spec in graph.inputs.items():
        if spec.dtype is not None:
            words += ["--input_dtype", name, spec.dtype]
    words += _widths(graph)
    for name, spec in graph.inputs.items():
        if spec.layout is not None:
            words += ["--input_layout", name, spec.layout]
    options = options_said(data().sections[CONVERTER], given(graph, CONVERTER))
    return (*words, *converter_words(graph), *measuring_words(graph), *options)


def _measured(graph: Graph) -> Iterator[str]:
    quantization = graph.quantization
    if quantization is not None and quantization.encodings is not None:
        yield from ("--quantization_overrides", "{encodings}")
    if quantization is not None and graph.calibration is not None:
        yield from ("--input_list", INPUT_LIST, "--use_native_input_files")


def _widths(graph: Graph) -> Iterator[str]:
    quantization = graph.quantization
    if quantization is None:
        if graph.precision == "fp16":
            yield from ("--float_bitwidth", "16")
        yield from FLOAT_WIDTHS
        return
    yield from ("--act_bitwidth", str(quantization.activations))
    if quantization.weights != DEFAULT_WEIGHTS:
        yield from ("--weights_bitwidth", str(quantization.weights))
    yield from ("--bias_bitwidth", str(quantization.bias))


def options_said(
    known: Mapping[str, Option],
    asked: Mapping[str, Any],
    spelled: Callable[[Option], str] = lambda option: option.flag or f"--{option.name}",
) -> Iterator[str]:
    """A tool's words for options; a default that is written out is none."""
    for name, value in sorted(asked.items()):
        if name in known and not known[name].said_by:
            yield from _words(known[name], value, spelled(known[name]))


def _words(option: Option, value: Any, flag: str) -> Iterator[str]:
    if option.form == "switch" or value is True:
        if value is True:
            yield flag
    elif option.form in ("names", "some"):
        if isinstance(value, list):
            yield from (flag, *filter(None, [option.word]), *map(str, value))
    elif option.form == "pairs" and isinstance(value, Mapping):
        for name, one in value.items():
            yield from (flag, str(name), str(one))
    elif str(value) != option.default:
        yield from (flag, str(value))


def precision_problems(
    graph: Graph,
    chip: Chip,
    version: str,
    *,
    wide_weights_since: str = WIDE_WEIGHTS_SINCE,
    part: str = CONVERTER,
) -> Iterator[Problem]:
    """What the converter cannot make of the graph's precision, or the chip cannot calculate.

    `part` is that of the options which say how ranges are found.
    """
    at = graph.places.get("precision", graph.places.get("graph"))
    quantization = graph.quantization
    if quantization is None or graph.auto_from:
        if graph.precision not in FLOATS:
            yield Problem(
                message=f"the SDK's converter makes no {graph.precision} of '{graph.name}'",
                at=at,
                hint=_instead(graph),
            )
        elif not chip.fp16:
            yield Problem(
                message=f"'{graph.name}' cannot be {graph.precision} on {chip.name}: it has no "
                "fp16",
                at=at,
                facts=(("chip", f"{chip.name}, HTP v{chip.arch}"),),
                hint="leave the chip out, or precision: w8a16 with calibration for it alone: only: "
                f"{{{chip.name}: {{precision: w8a16}}}}",
            )
        return
    for said in _refused(quantization, version, wide_weights_since, part):
        message, hint = said
        yield Problem(
            message=f"'{graph.name}' cannot be {graph.precision}: {message}", at=at, hint=hint
        )


def _instead(graph: Graph) -> str:
    """What to write where the tools have no such precision."""
    if graph.auto_from:
        return "toolchain: ort searches: write here what it has found, or precision: w8a16"
    if graph.precision == "qdq":
        return (
            "options: {qairt: {route: ort-dlc}} compiles the quantizers of an ONNX file; or "
            "precision: {weights: 8, activations: 16, encodings: file.json}"
        )
    return "precision: fp16, or w8a16 with calibration"


def _refused(
    quantization: Quantization, version: str, wide_since: str, part: str
) -> Iterator[tuple[str, str]]:
    if quantization.activations is None or quantization.weights is None:
        yield "the SDK's converter quantizes weights and activations", "precision: w8a16"
        return
    if quantization.weights == 16 and not has(version, wide_since):
        yield (
            f"weights of 16 bits came with {wide_since}; the SDK is {version}",
            "precision: w8a16",
        )
    usual = replace(
        Quantization(),
        weights=quantization.weights,
        activations=quantization.activations,
        bias=quantization.bias,
        encodings=quantization.encodings,
    )
    for name, option in SAID.items():
        if getattr(quantization, name) != getattr(usual, name):
            yield (
                "the SDK's converter has words of its own for ranges",
                f"options: {{qairt: {{{part}: {{{option}}}}}}}"
                if ":" in option
                else f"options: {{qairt: {{{part}: {{{option}: …}}}}}}",
            )
    if any(getattr(quantization, name) for name in ENCODED):
        yield (
            "single nodes are said to the SDK's converter in a file of encodings",
            "precision: {weights: 8, activations: 16, encodings: file.json}",
        )
