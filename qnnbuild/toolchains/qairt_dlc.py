"""The routes over a DLC as a recipe wants them: command lines, and what is wrong. Pure.

qairt-converter makes a DLC of floats, which knows neither widths nor samples; qairt-quantizer makes
another of it. So a changed width or sample quantizes again and converts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from qnnbuild.digest import Json
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Chip, ContextOptions, Graph
from qnnbuild.toolchains import ortqnn
from qnnbuild.toolchains.ort_option_checks import option_problems as ort_option_problems
from qnnbuild.toolchains.ort_precisions import precision_problems as ort_precision_problems
from qnnbuild.toolchains.qairt_convert import INPUT_LIST, options_said, precision_problems
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_op_packages import converter_words, measuring_words
from qnnbuild.toolchains.qairt_options import CONVERTER, SET_BY, given
from qnnbuild.toolchains.qairt_routes import (
    CPP,
    DLC,
    ORT_DLC,
    QUANTIZER,
    route_of,
    sections_of,
    spelled,
)
from qnnbuild.toolchains.work import Work

WIDE_WEIGHTS_SINCE = "2.31"
FALLBACK, IGNORE = "enable_float_fallback", "ignore_quantization_overrides"
KEEPS_TYPES = ("preserve_io_datatype",)

SHAPES = ("enable_htp_monolithic_lstm", "skip_backend_op_validation")
"""Options of `ort` that change the DLC which its plugin writes. The others are of its compile."""

ORT_PRECISIONS = ("fp32", "fp16", "qdq")


def dlc_name(graph: Graph) -> str:
    """Without - or capitals the file, the graph in the DLC and that in the binary have one name."""
    return names_of(graph).graph


def converter(graph: Graph, version: str) -> Work:
    """The part of an action that makes the float DLC, or the only one."""
    return Work(
        call="qnnbuild.work.qairt_dlc:convert",
        params={
            "stem": dlc_name(graph),
            "argv": list(_converter_words(graph, version)),
            "relaid": sorted(_asked(graph, CONVERTER, "desired_input_layout")),
            "loses": given(graph, CONVERTER).get("remove_unused_inputs") is True,
        },
        outputs=("model",),
    )


def quantizer(graph: Graph, version: str) -> Work:
    asked = given(graph, QUANTIZER)
    return Work(
        call="qnnbuild.work.qairt_dlc:quantize",
        params={
            "stem": dlc_name(graph),
            "dlc": f"{dlc_name(graph)}.dlc",
            "argv": list(_quantizer_words(graph, version)),
            "keeps_types": any(name in asked for name in KEEPS_TYPES),
        },
        outputs=("model", "quantization"),
    )


def dump(graph: Graph) -> Work:
    """What the toolchain `ort` has converted becomes a DLC, by its plugin."""
    options: dict[str, Json] = {
        name: text for name, text in ortqnn.dump_options(graph, ortqnn.DLC) if name in SHAPES
    }
    return Work(
        call="qnnbuild.work.dlc_ort:dlc",
        params={"graph": graph.name, "stem": dlc_name(graph), "options": options},
        outputs=("model",),
        # numpy is loaded where compiles are forked from, and so part of the memory they find
        tools=(*ortqnn.OrtQnn.tools, "package:numpy", "host"),
    )


def _converter_words(graph: Graph, version: str) -> Iterator[str]:
    yield from ("--input_network", "{in.model}/model.onnx")
    yield from ("--output_path", f"{{out.model}}/{dlc_name(graph)}.dlc")
    for name in graph.outputs:
        yield from ("--out_tensor_node", name)
    for name, spec in graph.inputs.items():
        if spec.dtype is not None:
            yield from ("--source_model_input_datatype", name, spec.dtype)
    for name, spec in graph.inputs.items():
        if spec.layout is not None:
            yield from ("--source_model_input_layout", name, spec.layout)
    quantization = graph.quantization
    if quantization is not None and quantization.encodings is not None:
        yield from ("--quantization_overrides", "{encodings}")
    if quantization is None and graph.precision == "fp16":
        yield from ("--float_bitwidth", "16")
    yield from converter_words(graph)
    yield from _options(graph, CONVERTER, version)


def _quantizer_words(graph: Graph, version: str) -> Iterator[str]:
    quantization = graph.quantization
    assert quantization is not None
    yield from ("--input_dlc", f"{{in.model}}/{dlc_name(graph)}.dlc")
    yield from ("--output_dlc", f"{{out.model}}/{dlc_name(graph)}.dlc")
    if graph.calibration is not None:
        yield from ("--input_list", INPUT_LIST, "--use_native_input_files")
    yield from ("--act_bitwidth", str(quantization.activations))
    yield from ("--weights_bitwidth", str(quantization.weights))
    yield from ("--bias_bitwidth", str(quantization.bias))
    yield from measuring_words(graph)
    yield from _options(graph, QUANTIZER, version)


def _options(graph: Graph, part: str, version: str) -> Iterator[str]:
    return options_said(
        sections_of(DLC)[part], given(graph, part), lambda option: f"--{spelled(option, version)}"
    )


def _asked(graph: Graph, part: str, option: str) -> Sequence[str]:
    found = given(graph, part).get(option, ())
    return tuple(found) if isinstance(found, dict) else ()


def dlc_problems(graph: Graph, chip: Chip, version: str) -> Iterator[Problem]:
    """What keeps the graph from its route."""
    route = route_of(graph)
    if route == ORT_DLC and graph.op_packages:
        yield Problem(
            message="operators of your own do not go through the plugin's DLC: its IR backend "
            "registers no packages",
            at=graph.places.get("op_packages", graph.places.get("graph")),
            hint=f"options: {{qairt: {{route: {DLC}}}}}, or {CPP}, which is the usual one",
        )
    if route == CPP:
        yield from precision_problems(graph, chip, version)
    elif route == DLC:
        yield from precision_problems(
            graph, chip, version, wide_weights_since=WIDE_WEIGHTS_SINCE, part=QUANTIZER
        )
        yield from _quantizer_problems(graph)
    else:
        yield from _ort_problems(graph, chip)


def _quantizer_problems(graph: Graph) -> Iterator[Problem]:
    quantization, asked = graph.quantization, given(graph, QUANTIZER)
    at = graph.places.get(f"{SET_BY}.{QUANTIZER}", graph.places.get("options"))
    if quantization is None:
        if asked:
            yield Problem(
                message=f"nothing is quantized: '{graph.name}' is {graph.precision}",
                at=at,
                hint="precision: w8a16 with calibration, or leave the quantizer's options out",
            )
        return
    encodings, falls_back = quantization.encodings is not None, asked.get(FALLBACK) is True
    if graph.calibration is None and not (encodings and falls_back):
        yield Problem(
            message=f"qairt-quantizer needs samples to quantize '{graph.name}'",
            at=graph.places.get("precision", graph.places.get("graph")),
            hint=f"calibration: …, or options: {{qairt: {{quantizer: {{{FALLBACK}: true}}}}}}"
            if encodings
            else "calibration: …",
        )
    if falls_back and (not encodings or graph.calibration is not None):
        yield Problem(
            message=f"{FALLBACK} wants encodings and no calibration",
            at=graph.places.get(f"{SET_BY}.{QUANTIZER}.{FALLBACK}", at),
            hint="leave it out, or leave 'calibration' out and say precision: {encodings: …}",
        )
    if asked.get(IGNORE) is True and (encodings or falls_back):
        yield Problem(
            message=f"{IGNORE} cannot stand beside {'encodings' if encodings else FALLBACK}",
            at=graph.places.get(f"{SET_BY}.{QUANTIZER}.{IGNORE}", at),
            hint="leave one of the two out",
        )


def _ort_problems(graph: Graph, chip: Chip) -> Iterator[Problem]:
    """The model is converted as for the toolchain `ort`, and compiled by the SDK."""
    if graph.auto_from or (graph.quantization is None and graph.precision not in ORT_PRECISIONS):
        yield Problem(
            message=f"{graph.precision} cannot go through a DLC",
            at=graph.places.get("precision", graph.places.get("graph")),
            hint="toolchain: ort searches; write what it has found"
            if graph.auto_from
            else "precision: fp16, qdq, or w8a16 with calibration",
        )
        return
    yield from ort_precision_problems(graph, chip)
    dumped = replace(graph, dumps=(ortqnn.DLC,))
    asked = graph.options.get(ortqnn.NAME, {})
    for problem in ort_option_problems(dumped, chip, ContextOptions()) if asked else ():
        yield problem
        return
    for name in asked:
        if name not in SHAPES:
            yield Problem(
                message=f"{name} changes no DLC: the SDK compiles it",
                at=graph.places.get(f"options.{ortqnn.NAME}.{name}", graph.places.get("options")),
                hint=f"options: {{qairt: {{htp: …}}}}; of ort count {', '.join(SHAPES)}",
            )


def mixed_problems(graphs: Sequence[Graph]) -> Iterator[Problem]:
    """One call of the SDK's compiler takes libraries or DLCs."""
    ways = {route_of(graph) == CPP for graph in graphs}
    if len(ways) > 1:
        yield Problem(
            message="libraries and DLCs cannot be compiled into one binary",
            at=next(
                (g.places.get(f"{SET_BY}.route") for g in graphs if route_of(g) != CPP),
                graphs[0].places.get("graph"),
            ),
            hint=f"one route for all of them, or leave share_weights out ({DLC} and {ORT_DLC} go "
            "together)",
        )
