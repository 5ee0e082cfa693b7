"""export: the user's own command makes the ONNX files, in an environment of its own.

With `requirements` that environment holds exactly the listed packages, and the file's content is
in the key. Without, the command runs with qnnbuild's Python and all packages installed beside it,
whose names and versions are in the key then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.recipe import ExportSource, Graph, Source
from qnnbuild.steps.fetch import MODEL, PIP, source_places

ENVS = "QNNBUILD_ENVS"
"""The folder where environments are kept between runs; not in the key, like every folder."""

EXPORT_DEADLINE_S = 3600.0
"""Loading a checkpoint takes its time; a recipe's `deadline:` gives more."""

ALSO = "_also"
"""The output with more files of the command. No graph is called so."""

ALL_PACKAGES = "packages"
"""A tool: name and version of every distribution that this Python can import."""


def together(graphs: Iterable[Graph]) -> tuple[tuple[Graph, ...], ...]:
    """The graphs with an export source, those in one group that one run of the command makes."""
    groups: dict[tuple[object, ...], list[Graph]] = {}
    for graph in graphs:
        if isinstance(graph.source, ExportSource):
            groups.setdefault(_command(graph.source), []).append(graph)
    return tuple(tuple(group) for group in groups.values())


def export(graphs: Sequence[Graph], *, name: str, group: str = "") -> Action:
    """One action for `graphs`, which are one group of `together`."""
    sources = [graph.source for graph in graphs if isinstance(graph.source, ExportSource)]
    first = sources[0]
    if len(sources) != len(graphs) or any(_command(s) != _command(first) for s in sources):
        raise ValueError("these graphs are not made by one command")
    makes = {
        export_output(graph, graphs): source.makes
        for graph, source in zip(graphs, sources, strict=True)
    }
    also = sorted({pattern for source in sources for pattern in source.also})
    inputs: dict[str, Input] = {}
    if first.needs:
        inputs["needs"] = SourceFiles(patterns=first.needs)
    if first.requirements is not None:
        inputs["requirements"] = SourceFiles(patterns=(first.requirements,))
    return Action(
        name=name,
        step="export",
        call="qnnbuild.work.export:export",
        params={
            "run": first.run,
            "folder": first.folder,
            "makes": makes,
            **({"also": also} if also else {}),
        },
        inputs=inputs,
        outputs=(*makes, ALSO) if also else tuple(makes),
        tools=_tools(first),
        passes=(*PIP, ENVS) if first.requirements is not None else (),
        deadline_s=max(EXPORT_DEADLINE_S, *(graph.deadline_s for graph in graphs)),
        places=_places(graphs[0]),
        group=group,
        about=f"run {' '.join(first.run)}",
    )


def _tools(source: ExportSource) -> tuple[str, ...]:
    """Besides the user's packages those that read the ONNX file, and write it without remarks."""
    if source.requirements is None:
        return ("python", ALL_PACKAGES)
    return ("python", "package:onnx", "package:protobuf")


def _places(graph: Graph) -> dict[str, Span]:
    """The keys below `export:` are the source's own, and inputs are called after them."""
    said = source_places(graph.source.span, graph.places)
    for place, at in tuple(said.items()):
        key = place.removeprefix("source.export.")
        if key != place:
            said[f"source.{key}"] = at
            if key in ("needs", "requirements"):
                said[key] = at
    return said


def export_output(graph: Graph, graphs: Sequence[Graph]) -> str:
    """The output of `export(graphs, …)` with the ONNX file of `graph`."""
    made = [g.source.makes for g in graphs if isinstance(g.source, ExportSource)]
    if len(set(made)) == 1:
        return MODEL
    first = made.index(graph.source.makes) if isinstance(graph.source, ExportSource) else 0
    return graphs[first].name


def has_more(source: Source) -> bool:
    """Whether an action brings more than the ONNX file."""
    return isinstance(source, ExportSource) and bool(source.also)


def exported(patterns: Sequence[str], action: str) -> OutputOf | None:
    """What `action`, which makes the graph's ONNX file, makes for `patterns`; None: not asked."""
    if not patterns:
        return None
    return OutputOf(action=action, output=ALSO)


def _command(source: ExportSource) -> tuple[object, ...]:
    return (source.run, source.folder, source.needs, source.requirements)
