"""What the SDK's converters can be told of an input, before one of them refuses it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_option_checks import is_flag
from qnnbuild.toolchains.qairt_routes import ORT_DLC, route_of

ANY_RANK = "NONTRIVIAL"
LAYOUTS = (
    *("NCDHW", "NDHWC", "NCHW", "NHWC", "NFC", "NCF", "NTF", "TNF", "NF", "NC", "F"),
    ANY_RANK,
)


def input_problems(graph: Graph) -> Iterator[Problem]:
    """Layouts that the converters have no word for, or that have other dimensions."""
    if route_of(graph) == ORT_DLC:
        return
    for name, spec in graph.inputs.items():
        at = graph.places.get(f"inputs.{name}.layout", graph.places.get(f"inputs.{name}"))
        if spec.layout is None:
            continue
        if spec.layout not in LAYOUTS:
            yield Problem(
                message=f"the SDK's converter knows no layout '{spec.layout}'",
                at=at,
                hint=did_you_mean(spec.layout, LAYOUTS, otherwise=f"it knows {', '.join(LAYOUTS)}"),
            )
        elif spec.layout != ANY_RANK and spec.shape and len(spec.shape) != len(spec.layout):
            yield Problem(
                message=f"the layout {spec.layout} has {len(spec.layout)} dimensions, and '{name}' "
                f"has {len(spec.shape)}",
                at=at,
                hint=f"a layout of {len(spec.shape)} letters, or {ANY_RANK}",
            )


def word_problems(graph: Graph) -> Iterator[Problem]:
    """Names that a tool of the SDK would take for one of its options."""
    if route_of(graph) == ORT_DLC:
        return
    for key, kind, names in (
        ("inputs", "an input", graph.inputs),
        ("outputs", "an output", graph.outputs),
    ):
        for name in filter(is_flag, names):
            yield Problem(
                message=f"'{name}' cannot be {kind} for the SDK's tools: it would be an option of "
                "theirs",
                at=graph.places.get(f"{key}.{name}", graph.places.get(key))
                or graph.places.get("graph"),
                hint="give it another name in the ONNX file",
            )
