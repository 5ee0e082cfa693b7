"""What graphs are called in a binary that variants share, where one name is one graph. Pure."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.model.recipe import ContextOptions, Graph


class InOneBinary:
    """Remembers what it made: graphs that nothing divides stay the very same graph."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[Graph, Graph]] = {}

    def called(
        self, graphs: tuple[Graph, ...], variant: str, context: ContextOptions
    ) -> tuple[Graph, ...]:
        if not variant or "variants" not in context.share_weights:
            return graphs
        return tuple(self._called(graph, variant) for graph in graphs)

    def _called(self, graph: Graph, variant: str) -> Graph:
        key = (id(graph), variant)
        if key not in self._known:
            # both: no id is used again
            made = replace(graph, in_binary=f"{graph.name}-{variant}")
            self._known[key] = (graph, made)
        return self._known[key][1]
