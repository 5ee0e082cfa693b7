"""library: a converted graph as a shared library for one system. Knows no chip."""

from __future__ import annotations

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.steps.doing import doing
from qnnbuild.toolchains.work import Work

LIBRARY = "library"


def library(
    target: Target, graph: Graph, work: Work, system: str, *, converted: str, name: str
) -> Action:
    """`work` is what the toolchain does for `system`; `converted` is the name of an action."""
    return doing(
        work,
        target,
        graph,
        name=name,
        step="library",
        inputs={"model": OutputOf(action=converted, output="model")},
        about=f"{graph.name} for {system}",
    )
