"""dlc: a graph as a DLC between two other actions. Knows no chip.

Either floats, which convert quantizes then, or what convert has made, as a compile reads it.
"""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.steps.doing import doing
from qnnbuild.toolchains.work import Work


def unquantized(
    target: Target,
    graph: Graph,
    work: Work,
    *,
    prepared: str,
    own: Mapping[str, Input],
    name: str,
) -> Action:
    """The prepared graph, with the encodings that the recipe names. It knows no widths.

    `own`: what the converter is told of operators of the user's own.
    """
    inputs: dict[str, Input] = {"model": OutputOf(action=prepared, output="model")}
    quantization = graph.quantization
    if quantization is not None and quantization.encodings is not None:
        inputs["encodings"] = SourceFiles(patterns=(quantization.encodings,))
    inputs |= own
    about = f"{graph.name} as a DLC of floats"
    return _dlc(target, graph, work, inputs, name=name, about=about)


def lowered(target: Target, graph: Graph, work: Work, *, converted: str, name: str) -> Action:
    inputs: dict[str, Input] = {"model": OutputOf(action=converted, output="model")}
    about = f"{graph.name} as {graph.precision}, a DLC"
    return _dlc(target, graph, work, inputs, name=name, about=about)


def _dlc(
    target: Target, graph: Graph, work: Work, inputs: dict[str, Input], *, name: str, about: str
) -> Action:
    return doing(
        work,
        target,
        graph,
        name=name,
        step="dlc",
        inputs=inputs,
        about=about,
    )
