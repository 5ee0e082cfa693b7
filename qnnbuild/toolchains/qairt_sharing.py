"""What is wrong with graphs that are to share a binary of Qualcomm's SDK. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_options import HTP, SET_BY, given

MOST_GRAPHS = 64
WEIGHTS = "dlbc_weights"


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
    for graph in graphs:
        if given(graph, HTP).get(WEIGHTS) in (1, True):
            yield Problem(
                message=f"{WEIGHTS} cannot stand beside shared weights",
                at=graph.places.get(f"{SET_BY}.{HTP}.{WEIGHTS}", at),
                hint="leave one of the two out",
            )
