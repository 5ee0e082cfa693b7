"""What the SDK's converters can be told of an input, before one of them refuses it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.recipe import Graph
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
