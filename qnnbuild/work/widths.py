"""Mixed precision: which nodes compute in the other width, and what its tensors get for it.

`get_qnn_qdq_config` lifts whole neighbourhoods of a tensor; here nodes are meant. What a node of
the other width reads is converted at its border, and what it makes is converted back for others.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto
from onnxruntime.quantization import QuantType

from qnnbuild.errors import did_you_mean
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import all_names, free_name, made_by

Overrides = dict[str, list[dict[str, Any]]]

ACTIVATIONS = {8: QuantType.QUInt8, 16: QuantType.QUInt16}

MOVING = ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "Pad",
          "Expand", "DepthToSpace", "SpaceToDepth")  # fmt: skip
"""These only move values: between two nodes of one width they have that width too."""

CLAMPING = ("Relu", "Clip")
"""These are taken into the node before them."""

WEIGHTS = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (1, 2),
    "MatMul": (0, 1),
    "LayerNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "BatchNormalization": (1, 2, 3, 4),
}
"""Inputs that, when stored, have the weights' type; all others have the activations'."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Nodes by operator and by patterns of their names."""

    operators: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    what: str = "sixteen_bit"  # the recipe's word

    def names(self, model: ModelProto, users: Mapping[str, str]) -> set[str]:
        """The names of the nodes meant; `users` has the names that the user knows."""
        found: set[str] = set()
        for operator in self.operators:
            these = {node.name for node in model.graph.node if node.op_type == operator}
            self._check(operator, these, {node.op_type for node in model.graph.node}, "operator")
            found |= these
        spelled = {node.name: users.get(node.name, node.name) for node in model.graph.node}
        for pattern in self.nodes:
            these = {
                name
                for name, shown in spelled.items()
                if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(shown, pattern)
            }
            self._check(pattern, these, set(spelled.values()), "node")
            found |= these
        return found

    def _check(self, wanted: str, found: set[str], known: Iterable[str], kind: str) -> None:
        if not found:
            raise WorkError(
                f"{self.what}: no {kind} of the graph is '{wanted}'",
                place="precision",
                hint=did_you_mean(wanted, sorted(known)),
                exit_code=3,
            )


def spread(model: ModelProto, chosen: set[str]) -> set[str]:
    """`chosen`, and the nodes that would only convert forth and back between them."""
    makers, readers = made_by(model.graph), readers_of(model)
    outputs = {value.name for value in model.graph.output}
    grown, before = set(chosen), -1
    while len(grown) != before:
        before = len(grown)
        for node in model.graph.node:
            source = makers.get(node.input[0]) if node.input else None
            if node.name in grown or source is None or source.name not in grown:
                continue
            reads = [reader for name in node.output for reader in readers.get(name, [])]
            moves = node.op_type in MOVING and reads and all(r.name in grown for r in reads)
            alone = len(readers.get(node.input[0], [])) == 1 and node.input[0] not in outputs
            if moves or (node.op_type in CLAMPING and alone):
                grown.add(node.name)
    return grown


def readers_of(model: ModelProto) -> dict[str, list[NodeProto]]:
    """The nodes that read each tensor, each once, in the graph's order."""
    found: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for name in dict.fromkeys(name for name in node.input if name):
            found.setdefault(name, []).append(node)
    return found


def overrides_for(model: ModelProto, other: set[str], *, base: int, floats: set[str]) -> Overrides:
    """What tensors get so that the nodes of `other` compute in the other width than `base`.

    Stored tensors that nodes of both widths read are doubled in `model`.
    """
    if not other:
        return {}
    wide, narrow = (ACTIVATIONS[width] for width in (24 - base, base))
    makers, readers = made_by(model.graph), readers_of(model)
    inputs = {value.name for value in model.graph.input}
    overrides: Overrides = {}
    for name in [n for n in dict.fromkeys([*makers, *readers]) if n in floats]:
        reads = {node.name for node in readers.get(name, [])}
        there, here = reads & other, reads - other
        if name in inputs or name not in makers:
            is_other = bool(there) and (base == 8 or not here)
        else:
            is_other = makers[name].name in other
        converted = here if is_other else there
        if is_other or converted:
            mine, theirs = (wide, narrow) if is_other else (narrow, wide)
            overrides[name] = [{"quant_type": mine}]
            if converted:
                # recv_nodes: the runtime's word for who reads the converted tensor
                overrides[name][0]["convert"] = {"quant_type": theirs, "recv_nodes": converted}
    overrides |= _stored(model, other, wide)
    return overrides


def _stored(model: ModelProto, other: set[str], wide: QuantType) -> Overrides:
    """Stored tensors that count as activations have the width of the node that reads them."""
    stored = {
        tensor.name: tensor
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.FLOAT
    }
    taken = all_names(model)
    uses: dict[str, list[tuple[NodeProto, int]]] = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name in stored and index not in WEIGHTS.get(node.op_type, ()):
                uses.setdefault(name, []).append((node, index))
    overrides: Overrides = {}
    everywhere = readers_of(model)
    for name, places in uses.items():
        theirs = [(node, index) for node, index in places if node.name in other]
        if not theirs:
            continue
        mine = name
        if len({node.name for node, _ in theirs}) < len(everywhere[name]):
            mine = free_name(f"{name}_other_width", taken)
            double = model.graph.initializer.add()
            double.CopyFrom(stored[name])
            double.name = mine
            for node, index in theirs:
                node.input[index] = mine
        overrides[mine] = [{"quant_type": wide}]
    return overrides


def matmul_channels(model: ModelProto, kind: QuantType) -> Overrides:
    """Per channel for MatMul too. onnxruntime holds that QNN cannot; all chips compile it."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    signed = {QuantType.QUInt4: QuantType.QInt4, QuantType.QUInt8: QuantType.QInt8,
              QuantType.QUInt16: QuantType.QInt16}  # fmt: skip
    found: Overrides = {}
    for name, readers in readers_of(model).items():
        tensor = stored.get(name)
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
            continue
        if all(node.op_type == "MatMul" and node.input[1] == name for node in readers):
            # channels have the zero point 0, so they are symmetric and their type is signed
            found[name] = [{"axis": 1, "quant_type": signed.get(kind, kind), "symmetric": True}]
    return found


NORMS = ("LayerNormalization", "InstanceNormalization", "BatchNormalization")


def norm_scales(model: ModelProto) -> Overrides:
    """The plugin takes a LayerNormalization's stored scale as uint8 only, whatever weights are."""
    stored = {
        tensor.name for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT
    }
    return {
        node.input[1]: [{"quant_type": QuantType.QUInt8, "symmetric": False}]
        for node in model.graph.node
        if node.op_type in NORMS and node.input[1] in stored
    }
