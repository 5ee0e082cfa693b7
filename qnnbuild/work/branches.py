"""If on what is known once inputs are frozen and shapes are fixed: only the branch taken stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from qnnbuild.work.shapes import infer
from qnnbuild.work.walk import all_names, free_name, inner_graphs, made_by, shape_of

MOST_NODES = 200
"""A condition is a few nodes; what is longer computes something."""

MOST_ELEMENTS = 4096

Array = np.ndarray[Any, np.dtype[Any]]


def take_branches(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model without decided Ifs, and their names; onnxsim mixes up nested ones."""
    taken: list[str] = []
    while True:
        decided = _decided(model)
        if not decided:
            return model, taken
        for name, is_true in decided:
            taken.append(name)
            _inline(model, name, "then_branch" if is_true else "else_branch")
        model = infer(model)


def _decided(model: ModelProto) -> list[tuple[str, bool]]:
    known = _Known(model)
    found: list[tuple[str, bool]] = []
    for node in [n for n in model.graph.node if n.op_type == "If"]:
        value = known.value(node.input[0])
        if value is not None and value.size == 1:
            found.append((node.name, bool(value.reshape(()))))
    return found


class _Known:
    """Values of the main graph's tensors that depend on no input."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.made = made_by(model.graph)
        self.stored: Mapping[str, TensorProto] = {t.name: t for t in model.graph.initializer}
        values = [*model.graph.value_info, *model.graph.input, *model.graph.output]
        self.shapes = {v.name: s for v in values if (s := shape_of(v)) is not None}

    def value(self, name: str) -> Array | None:
        nodes: list[NodeProto] = []
        constants: dict[str, Array] = {}
        if not self._collect(name, nodes, constants, set()):
            return None
        if name in constants:
            return constants[name]
        stored = [numpy_helper.from_array(array, key) for key, array in constants.items()]
        result = helper.make_empty_tensor_value_info(name)
        part = helper.make_graph(nodes, "condition", [], [result], stored)
        model = helper.make_model(part, opset_imports=list(self.model.opset_import))
        answers = ReferenceEvaluator(model).run(None, {})
        assert isinstance(answers, list)
        return np.asarray(answers[0])

    def _collect(
        self, name: str, nodes: list[NodeProto], constants: dict[str, Array], seen: set[str]
    ) -> bool:
        """Gather what makes `name`, makers first; False when an input decides, or too much work."""
        if name in constants or name in seen or not name:
            return True
        if name in self.stored:
            return self._take_stored(name, constants)
        node = self.made.get(name)
        if node is None or len(nodes) > MOST_NODES or any(inner_graphs(node)):
            return False
        shape = self.shapes.get(node.input[0]) if node.input else None
        if node.op_type in ("Shape", "Size") and shape is not None and not node.attribute:
            sizes = [size for size in shape if isinstance(size, int)]
            if len(sizes) == len(shape):
                wanted = sizes if node.op_type == "Shape" else int(np.prod(sizes, dtype=np.int64))
                constants[name] = np.asarray(wanted, np.int64)
                return True
        seen.update(node.output)
        if not all(self._collect(needed, nodes, constants, seen) for needed in node.input):
            return False
        nodes.append(node)
        return True

    def _take_stored(self, name: str, constants: dict[str, Array]) -> bool:
        tensor = self.stored[name]
        count = int(np.prod(list(tensor.dims), dtype=np.int64))
        if tensor.data_location == TensorProto.EXTERNAL or count > MOST_ELEMENTS:
            return False
        constants[name] = numpy_helper.to_array(tensor)
        return True


def _inline(model: ModelProto, name: str, which: str) -> None:
    """Put a branch's nodes in the place of its If; names that are taken outside get a number."""
    index = next(i for i, n in enumerate(model.graph.node) if n.name == name)
    node, branch = NodeProto(), GraphProto()
    node.CopyFrom(model.graph.node[index])
    branch.CopyFrom(next(a.g for a in node.attribute if a.name == which))
    del model.graph.node[index]
    taken = all_names(model) | set(node.output)
    names: dict[str, str] = {}
    ends: list[NodeProto] = []
    made = {n for child in branch.node for n in child.output if n}
    for inner, outer in zip([v.name for v in branch.output], node.output, strict=True):
        if inner in made and inner not in names:
            names[inner] = outer
        else:  # a tensor from outside, a weight, or one output given twice
            ends.append(helper.make_node("Identity", [inner], [outer], name=f"Identity_{outer}"))
    for inner in [*sorted(made), *(tensor.name for tensor in branch.initializer)]:
        if inner not in names:
            names[inner] = free_name(inner, taken)
    for tensor in branch.initializer:
        tensor.name = names[tensor.name]
        model.graph.initializer.append(tensor)
    new = [*branch.node, *ends]
    for child in new:
        _rename(child, names)
    for offset, child in enumerate(new):
        model.graph.node.insert(index + offset, child)


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    for fields in (node.input, node.output):
        for index, name in enumerate(fields):
            if name in names:
                fields[index] = names[name]
    for inner in inner_graphs(node):
        for child in inner.node:
            _rename(child, names)
        for value in inner.output:
            value.name = names.get(value.name, value.name)
