"""DLCs that the SDK compiles for a chip: where they are, and what their graphs are called.

A DLC that the SDK has made has the name that was foreseen. One that ONNX Runtime's plugin has made
has a name that the plugin chose, and settings of the HTP count for that name only: so it is read
out of the DLC, and asked for in the binary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import is_newer
from qnnbuild.formats.tensor import GraphFacts
from qnnbuild.work.dlc_files import dlc_in, graph_in, made_by, read
from qnnbuild.work.run import Run, WorkError

OF_GRAPHS = "graph_configs"


def named(run: Run, version: str) -> Run:
    """The same run with the graphs' own names in it; one without DLCs as it is."""
    if not run.params.get("dlc"):
        return run
    members: Sequence[Mapping[str, Any]] = run.params["members"]
    graphs = [_graph(run, member["stem"]) for member in members]
    for member, graph in zip(members, graphs, strict=True):
        _check_name(member, graph)
        _check_maker(run, member["stem"], version)
    names = {
        member["graph"]: member["graph"] if graph is None else graph.name
        for member, graph in zip(members, graphs, strict=True)
    }
    inside = list(names.values())
    if twice := next((name for name in inside if inside.count(name) > 1), None):
        raise WorkError(
            f"two graphs of one binary are called '{twice}'",
            place="context.share_weights",
            hint="leave share_weights out, or give the graphs other names",
        )
    params = {**run.params, **_asked(run.params, names)}
    params["members"] = [
        {
            **member,
            "graph": names[member["graph"]],
            **({"alone": _asked(member["alone"], names)} if "alone" in member else {}),
        }
        for member in members
    ]
    return replace(run, params=params)


def dlc_of(run: Run, stem: str) -> Path:
    name = "model" if "model" in run.inputs else f"model-{stem}"
    try:
        return dlc_in(run.inputs[name])
    except FormatError as error:
        raise _not_whole(stem, error) from None


def operators_of(run: Run, stem: str) -> int:
    """How many the DLC's graph has; 0 where that cannot be read."""
    graph = _graph(run, stem)
    return sum(count for _, count in graph.operators) if graph is not None else 0


def _asked(said: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    found = {"htp": _htp(said["htp"], names)}
    if "extensions" in said:
        found["extensions"] = _extensions(said["extensions"], names)
    return found


def _htp(htp: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Settings of the HTP, for graphs by the names that they have."""
    parts = [
        {**part, "graph_names": [names[name] for name in part["graph_names"]]}
        for part in htp["graphs"]
    ]
    return {**htp, "graphs": parts}


def _extensions(around: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What stands around them, likewise."""
    parts = [
        {**part, "graph_name": names[part["graph_name"]]} for part in around.get(OF_GRAPHS, ())
    ]
    return {**around, **({OF_GRAPHS: parts} if parts else {})}


def _graph(run: Run, stem: str) -> GraphFacts | None:
    try:
        return graph_in(dlc_of(run, stem))
    except FormatError as error:
        raise _not_whole(stem, error) from None


def _check_name(member: Mapping[str, Any], graph: GraphFacts | None) -> None:
    """One that cannot be read is told by the binary."""
    if graph is not None and not member.get("named_by_dlc") and graph.name != member["graph"]:
        raise WorkError(
            f"the graph in the DLC is called '{graph.name}', not '{member['graph']}'",
            place="graph",
            exit_code=5,
        )


def _check_maker(run: Run, stem: str, version: str) -> None:
    """What an SDK makes of a newer one's DLC nobody says: its own failure would tell."""
    maker = made_by(read(dlc_of(run, stem)))
    if maker is not None and is_newer(maker, version):
        run.warn(
            f"the DLC of '{stem}' was written by QNN {maker}, which is newer than the SDK, "
            f"{version}: it may be refused",
            place="toolchain",
        )


def _not_whole(stem: str, error: FormatError) -> WorkError:
    return WorkError(f"the DLC of '{stem}' is not whole: {error}", place="graph", exit_code=5)
