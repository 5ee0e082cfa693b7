"""convert: a prepared graph in the precision that the recipe asks for. Knows no chip."""

from __future__ import annotations

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.toolchains.work import Toolchain


def convert(
    target: Target, graph: Graph, toolchain: Toolchain, prepared: str, *, name: str
) -> Action:
    """`prepared` is the name of the prepare action."""
    work = toolchain.convert(graph)
    return Action(
        name=name,
        step="convert",
        call=work.call,
        argv=work.argv,
        params=work.params,
        inputs={"model": OutputOf(action=prepared, output="model")},
        outputs=work.outputs,
        tools=work.tools,
        env=work.env,
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} as {graph.precision}",
    )
