"""What repairs share: looking up constants and readers, and replacing nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from qnnbuild.work.walk import all_names, free_name, made_by

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Repair:
    """A rewrite that keeps what a graph computes. `apply` returns the names of the nodes."""

    name: str
    apply: Callable[[ModelProto], list[str]]


@dataclass(kw_only=True)
class View:
    """A graph with its makers, readers and constants at hand; it is right until the next edit."""

    graph: GraphProto
    made: Mapping[str, NodeProto]
    readers: Mapping[str, list[NodeProto]]
    stored: Mapping[str, TensorProto]
    outputs: frozenset[str]
    taken: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, model: ModelProto) -> View:
        graph = model.graph
        readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        return cls(
            graph=graph,
            made=made_by(graph),
            readers=readers,
            stored={tensor.name: tensor for tensor in graph.initializer},
            outputs=frozenset(value.name for value in graph.output),
            taken=all_names(model),
        )

    def maker(self, name: str, *kinds: str) -> NodeProto | None:
        """The node that makes `name`, if it is of one of `kinds`."""
        node = self.made.get(name)
        return node if node is not None and node.op_type in kinds else None

    def constant(self, name: str) -> Array | None:
        """The value of `name`, if it is stored."""
        tensor = self.stored.get(name)
        if tensor is None:
            node = self.maker(name, "Constant")
            tensor = (
                next((a.t for a in node.attribute if a.name == "value"), None) if node else None
            )
        if tensor is None or tensor.data_location == TensorProto.EXTERNAL:
            return None
        return numpy_helper.to_array(tensor)

    def number(self, name: str) -> float | None:
        """The value of `name`, if it is one stored number."""
        array = self.constant(name)
        return float(array.reshape(())) if array is not None and array.size == 1 else None

    def other(self, node: NodeProto, name: str) -> str | None:
        """The other input of a node of two."""
        if len(node.input) != 2 or name not in node.input:
            return None
        return str(node.input[1] if node.input[0] == name else node.input[0])

    def only_reader(self, name: str, *kinds: str) -> NodeProto | None:
        """The node that reads `name`, if nothing else does and it is of one of `kinds`."""
        readers = self.readers.get(name, [])
        if len(readers) != 1 or name in self.outputs or readers[0].op_type not in kinds:
            return None
        return readers[0]

    def store(self, name: str, value: Array) -> str:
        """Add a constant under a free name like `name`."""
        free = free_name(name, self.taken)
        self.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), free))
        return free

    def free(self, name: str) -> str:
        return free_name(name, self.taken)

    def replace(self, old: NodeProto, new: list[NodeProto]) -> None:
        """Put nodes in the place of one."""
        index = next(i for i, node in enumerate(self.graph.node) if node.name == old.name)
        del self.graph.node[index]
        for offset, node in enumerate(new):
            self.graph.node.insert(index + offset, node)


def attribute(node: NodeProto, name: str, default: int) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def numbers(node: NodeProto, name: str) -> list[int]:
    return next((list(a.ints) for a in node.attribute if a.name == name), [])
