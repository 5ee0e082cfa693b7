"""packages: the user's libraries for operators of their own, checked before anything loads them."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.toolchains.work import Toolchain


def packages(target: Target, graph: Graph, toolchain: Toolchain, name: str) -> Action:
    """Outputs "here" (what compiles), "device" (what ships), "operators" (what the XML says)."""
    work = toolchain.packages(graph)
    files = [
        file
        for package in graph.op_packages
        for file in (package.library, package.xml, *package.on_device.values())
        if file is not None
    ]
    return Action(
        name=name,
        step="packages",
        call=work.call,
        argv=work.argv,
        params=work.params,
        inputs={"files": SourceFiles(patterns=tuple(dict.fromkeys(files)))},
        outputs=work.outputs,
        tools=work.tools,
        env=work.env,
        deadline_s=graph.deadline_s,
        places=_places(graph),
        group=target.model,
        about=f"operators of one's own in {graph.name}",
    )


def _places(graph: Graph) -> Mapping[str, Span]:
    at = graph.places.get("op_packages")
    return {**graph.places, "files": at} if at is not None else graph.places
