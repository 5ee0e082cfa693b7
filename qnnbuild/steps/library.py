"""library: a converted graph as a shared library for one system. Knows no chip."""

from __future__ import annotations

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.toolchains.work import Work

LIBRARY = "library"


def library(
    target: Target, graph: Graph, work: Work, system: str, *, converted: str, name: str
) -> Action:
    """`work` is what the toolchain does for `system`; `converted` is the name of an action."""
    return Action(
        name=name,
        step="library",
        call=work.call,
        argv=work.argv,
        params=work.params,
        inputs={"model": OutputOf(action=converted, output="model")},
        outputs=work.outputs,
        tools=work.tools,
        env=work.env,
        passes=work.passes,
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} for {system}",
    )
