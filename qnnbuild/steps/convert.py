"""convert: a prepared graph in the precision that the recipe asks for. Knows no chip."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.steps.doing import doing
from qnnbuild.toolchains.work import Toolchain


def convert(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    prepared: str,
    *,
    calibrated: str | None = None,
    unquantized: str | None = None,
    own: Mapping[str, Input] | None = None,
    name: str,
) -> Action:
    """Others are names of actions; `calibrated` is for quantizing only.

    `unquantized` has converted already, with the encodings: what it made is quantized. `own`: what
    the converter is told of operators of the user's own.
    """
    work = toolchain.convert(graph)
    inputs: dict[str, Input] = {"model": OutputOf(action=unquantized or prepared, output="model")}
    if calibrated is not None:
        inputs["feeds"] = OutputOf(action=calibrated, output="feeds")
    quantization = graph.quantization
    if unquantized is None and quantization is not None and quantization.encodings is not None:
        inputs["encodings"] = SourceFiles(patterns=(quantization.encodings,))
    if quantization is not None and (quantization.sixteen_bit_nodes or quantization.float_nodes):
        inputs["names"] = OutputOf(action=prepared, output="names")  # patterns are in users' names
    inputs |= own or {}
    return doing(
        work,
        target,
        graph,
        name=name,
        step="convert",
        inputs=inputs,
        about=f"{graph.name} as {graph.precision}",
    )
