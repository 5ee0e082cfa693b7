"""An action of what a toolchain does for a graph."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, Input
from qnnbuild.errors import Span
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.toolchains.work import Work


def doing(
    work: Work,
    target: Target,
    graph: Graph,
    *,
    name: str,
    step: str,
    inputs: Mapping[str, Input],
    about: str,
    deadline_s: float | None = None,
    places: Mapping[str, Span] | None = None,
) -> Action:
    """Deadline, in seconds, and places in the recipe are the graph's where none are given."""
    return Action(
        name=name,
        step=step,
        call=work.call,
        argv=work.argv,
        params=work.params,
        inputs=inputs,
        outputs=work.outputs,
        tools=work.tools,
        env=work.env,
        passes=work.passes,
        deadline_s=graph.deadline_s if deadline_s is None else deadline_s,
        places=graph.places if places is None else places,
        group=target.model,
        about=about,
    )
