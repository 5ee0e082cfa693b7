"""Layouts that a recipe changes on the way into a DLC: in which order dimensions lie then. Pure.

Sizes tell that only where they differ, so it is said, or the recipe is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qnnbuild.digest import Json
from qnnbuild.errors import Problem, Span
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_options import CONVERTER, SET_BY, given
from qnnbuild.toolchains.qairt_routes import DLC, route_of

INPUTS, OUTPUTS = "desired_input_layout", "desired_output_layout"
OUTPUT_SOURCE = "source_model_output_layout"


def orders(graph: Graph) -> dict[str, Json]:
    """Input or output → for each dimension of the DLC which one of the model it is."""
    if route_of(graph) != DLC:
        return {}
    return {
        name: [source.index(letter) for letter in wanted]
        for option in (INPUTS, OUTPUTS)
        for name, source, wanted in _changed(graph, option)
        if _is_order(source, wanted)
    }


def layout_problems(graph: Graph) -> Iterator[Problem]:
    """Changes whose order nobody knows, and samples that would lie otherwise than they are."""
    if route_of(graph) != DLC:
        return
    for option in (INPUTS, OUTPUTS):
        at = _place(graph, option)
        for name, source, wanted in _changed(graph, option):
            if not source:
                yield Problem(
                    message=f"{option} of '{name}' is {wanted}, and nothing says how it lies in "
                    "the ONNX file",
                    at=at,
                    hint=_source_hint(option, name),
                )
            elif not _is_order(source, wanted):
                yield Problem(
                    message=f"'{name}' cannot be {wanted} in the DLC: it is {source} in the ONNX "
                    "file",
                    at=at,
                    hint=f"{option} wants the same letters in another order",
                )
    if _said(graph, INPUTS) and graph.calibration is not None:
        yield Problem(
            message=f"{INPUTS} and calibration cannot stand together: samples lie as in the ONNX "
            "file",
            at=_place(graph, INPUTS),
            hint="leave it out and turn the input in the app, or precision: fp16, or encodings "
            "with options: {qairt: {quantizer: {enable_float_fallback: true}}}",
        )


def _changed(graph: Graph, option: str) -> Iterator[tuple[str, str, str]]:
    """(name, layout in the ONNX file or nothing, layout in the DLC)."""
    sources = _said(graph, OUTPUT_SOURCE)
    if option == INPUTS:
        sources = {name: spec.layout or "" for name, spec in graph.inputs.items()}
    for name, wanted in _said(graph, option).items():
        yield name, sources.get(name, ""), wanted


def _said(graph: Graph, option: str) -> Mapping[str, str]:
    found = given(graph, CONVERTER).get(option)
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def _is_order(source: str, wanted: str) -> bool:
    return sorted(source) == sorted(wanted) and len(set(source)) == len(source)


def _place(graph: Graph, option: str) -> Span | None:
    return graph.places.get(f"{SET_BY}.{CONVERTER}.{option}", graph.places.get("options"))


def _source_hint(option: str, name: str) -> str:
    if option == INPUTS:
        return f"inputs: {{{name}: {{layout: …}}}}"
    return f"options: {{qairt: {{converter: {{{OUTPUT_SOURCE}: {{{name}: …}}}}}}}}"
