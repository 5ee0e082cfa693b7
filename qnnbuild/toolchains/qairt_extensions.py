"""What stands in the file around the HTP's own, for a compile and for a device. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_htp import run_part
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_op_packages import registered_on_device
from qnnbuild.toolchains.qairt_options import BOTH, EXTENSIONS, GEN, RUN, Option, data, given

OF_GRAPHS = "graph_configs"
SECTIONS = ("context_configs", "profile_configs", "async_graph_execution_config")


def compile_extensions(graphs: Sequence[Graph]) -> dict[str, Json]:
    """What changes the binary. Graphs have their own part; the rest is the same for all."""
    return _parts(graphs, GEN, BOTH)


def device_part(graph: Graph) -> dict[str, Json]:
    """What a device is told to run it, in the form of the two files, and of --op_packages."""
    around = _parts([graph], RUN, BOTH)
    packages = registered_on_device(graph)
    return {
        "htp": run_part(graph),
        **({"extensions": around} if around else {}),
        **({"op_packages": packages} if packages else {}),
    }


def _parts(graphs: Sequence[Graph], *used: str) -> dict[str, Json]:
    parts: dict[str, Json] = {
        section: found for section in SECTIONS if (found := dict(_said(graphs[0], section, used)))
    }
    entries: list[Json] = [
        {"graph_name": names_of(graph).graph, **found}
        for graph in graphs
        if (found := dict(_said(graph, OF_GRAPHS, used)))
    ]
    return {**parts, **({OF_GRAPHS: entries} if entries else {})}


def _said(graph: Graph, at: str, used: Sequence[str]) -> Iterator[tuple[str, Json]]:
    known: Mapping[str, Option] = data().sections[EXTENSIONS]
    for name, value in sorted(given(graph, EXTENSIONS).items()):
        option = known.get(name)
        if option is None or option.said_by or option.at != at or option.used not in used:
            continue
        if value != option.default:
            yield option.key, value
