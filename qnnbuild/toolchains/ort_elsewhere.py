"""What the plugin takes of graphs that were compiled elsewhere, and on which chips."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Chip, ContextOptions, Graph
from qnnbuild.toolchains.ort_options import BY_NAME, Scope

TOOLCHAIN = "ort"
PC = "pc"
"""The tag of chips whose system has Genie."""


def elsewhere_problems(graph: Graph, chip: Chip, context: ContextOptions) -> Iterator[Problem]:
    """Options of a compile that is over, and Genie where there is none."""
    if not (graph.wrapped or graph.genie):
        return
    for name in graph.options.get(TOOLCHAIN, {}):
        option = BY_NAME.get(name)
        if option is not None and option.settable and option.scope in (Scope.BYTES, Scope.DUMP):
            yield Problem(
                message=f"{name} is for the compile, and '{graph.name}' was made elsewhere",
                at=graph.places.get(f"options.{TOOLCHAIN}.{name}", graph.places.get("options")),
                hint="leave it out",
            )
    if graph.genie is None:
        return
    if PC not in chip.tags:
        yield Problem(
            message=f"Genie runs on Windows on ARM64 alone, and {chip.name} is no chip of such PCs",
            at=graph.places.get("precision", graph.places["graph"]),
            hint='chips: ["@pc"] are those that have it',
        )
    if context.embed:
        yield Problem(
            message="a DLC cannot stand inside its ONNX file: Genie opens it by its name",
            at=graph.places["graph"],
            hint="context: {embed: false}",
        )
