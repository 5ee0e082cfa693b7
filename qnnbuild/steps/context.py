"""context: a converted graph compiled for one chip, read back. Here the chip enters, no earlier."""

from __future__ import annotations

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.toolchains.work import Toolchain


def context(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    *,
    prepared: str,
    converted: str,
    name: str,
) -> Action:
    """`prepared` and `converted` are names of actions; its names are the user's words for nodes."""
    work = toolchain.context(graph, target.chip, target.context)
    return Action(
        name=name,
        step="context",
        call=work.call,
        argv=work.argv,
        params=work.params,
        inputs={
            "model": OutputOf(action=converted, output="model"),
            "names": OutputOf(action=prepared, output="names"),
        },
        outputs=work.outputs,
        tools=work.tools,
        env=work.env,
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} for {target.chip.name}",
    )
