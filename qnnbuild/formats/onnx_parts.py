"""How much there is in an ONNX file, counted on the wire: before anything of it is held in memory.

Weights are passed over; a file of gigabytes costs as much as its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from qnnbuild.formats import protobuf
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.protobuf import Value

NODES, GRAPHS, BORDERS, WEIGHTS = "nodes", "graphs in nodes", "inputs and outputs", "weights"
EDGES, NOTES = "inputs of a node", "facts beside the graph"

MOST = {
    NODES: 100_000,
    GRAPHS: 1_000,  # of If, Loop and Scan, in one another and side by side
    BORDERS: 2_000,
    WEIGHTS: 50_000,
    EDGES: 10_000,
    NOTES: 200_000,
}
"""Many times what models for an NPU have. Each part costs all who come later time."""

MAX_DEPTH = 32
_WIDE = 4096  # bytes: a node of less has no more inputs than it may, and hardly a graph

_MODEL_GRAPH, _MODEL_OPSET, _MODEL_METADATA, _MODEL_FUNCTION = 7, 8, 14, 25
_GRAPH = {1: NODES, 5: WEIGHTS, 11: BORDERS, 12: BORDERS, 13: NOTES, 14: NOTES, 15: WEIGHTS}
_NODE_INPUTS, _NODE_ATTRIBUTE, _FUNCTION_NODE = 1, 5, 7
_ATTRIBUTE_GRAPHS = (6, 11)


class TooMany(FormatError):
    """More of something than any model has."""

    def __init__(self, what: str) -> None:
        super().__init__(f"it has more than {MOST[what]:,} {what}")
        self.what = what


@dataclass
class _Count:
    found: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOST, 0))

    def one(self, what: str) -> None:
        self.found[what] += 1
        if self.found[what] > MOST[what]:
            raise TooMany(what)


def count_parts(data: memoryview) -> dict[str, int]:
    """What there is of each in `MOST`. Raises TooMany, or FormatError for what is no protobuf.

    Numbers of a node's inputs are those of all nodes that are large.
    """
    count = _Count()
    for number, value in protobuf.fields(data):
        if number == _MODEL_GRAPH:
            _graph(protobuf.message(value), count, 0)
        elif number == _MODEL_FUNCTION:
            _nodes_of_function(protobuf.message(value), count)
        elif number in (_MODEL_OPSET, _MODEL_METADATA):
            count.one(NOTES)
    return count.found


def _graph(message: memoryview, count: _Count, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FormatError("damaged: subgraphs in subgraphs without end")
    for number, value in protobuf.fields(message):
        if what := _GRAPH.get(number):
            count.one(what)
        if number == 1:
            _node(value, count, depth)


def _nodes_of_function(message: memoryview, count: _Count) -> None:
    for number, value in protobuf.fields(message):
        if number == _FUNCTION_NODE:
            count.one(NODES)
            _node(value, count, 0)


def _node(value: Value, count: _Count, depth: int) -> None:
    message = protobuf.message(value)
    wide = len(message) > _WIDE
    inputs = 0
    for number, inner in protobuf.fields(message):
        if number == _NODE_INPUTS and wide:
            inputs += 1
            if inputs > MOST[EDGES]:
                raise TooMany(EDGES)
        elif number == _NODE_ATTRIBUTE:
            for graph in _graphs(protobuf.message(inner)):
                count.one(GRAPHS)
                _graph(graph, count, depth + 1)
    count.found[EDGES] = max(count.found[EDGES], inputs)


def _graphs(attribute: memoryview) -> Iterator[memoryview]:
    for number, value in protobuf.fields(attribute):
        if number in _ATTRIBUTE_GRAPHS:
            yield protobuf.message(value)
