"""What is wrong with graphs that are to share a binary of Qualcomm's SDK. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_options import EXTENSIONS, HTP, RUN, SET_BY, data, given

MOST_GRAPHS = 64
WEIGHTS = "dlbc_weights"
OF_A_GRAPH = ("graphs", "graph_configs")


def sharing_problems(graphs: Sequence[Graph]) -> Iterator[Problem]:
    """A context tells its graphs apart by names."""
    at = graphs[0].places.get("graph")
    names = [names_of(graph).graph for graph in graphs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        yield Problem(
            message=f"two graphs of one binary would be called '{twice}'",
            at=at,
            hint="call one of the graphs, or of the variants, otherwise",
        )
    if len(graphs) > MOST_GRAPHS:
        yield Problem(
            message=f"{len(graphs)} graphs would share a binary, which holds {MOST_GRAPHS} at most",
            at=at,
            hint="context: {share_weights: graphs}, or fewer variants",
        )
    yield from _differing(graphs)
    for graph in graphs:
        if given(graph, HTP).get(WEIGHTS) in (1, True):
            yield Problem(
                message=f"{WEIGHTS} cannot stand beside shared weights",
                at=graph.places.get(f"{SET_BY}.{HTP}.{WEIGHTS}", at),
                hint="leave one of the two out",
            )


def _differing(graphs: Sequence[Graph]) -> Iterator[Problem]:
    """Of what the binary has once, there is one value."""
    for section in (HTP, EXTENSIONS):
        for option in data().sections[section].values():
            if option.said_by or option.used == RUN or option.at in OF_A_GRAPH:
                continue
            found = [given(graph, section).get(option.name) for graph in graphs]
            other = next((at for at, value in enumerate(found) if value != found[0]), None)
            if other is not None:
                place = f"{SET_BY}.{section}.{option.name}"
                one, two = graphs[0], graphs[other]
                yield Problem(
                    message=f"{option.name} of '{one.name}' and of '{two.name}' differ, and they "
                    "share a binary",
                    at=two.places.get(place) or one.places.get(place),
                    hint="defaults: {graph: {options: …}} says it for all",
                )
