"""What both converters share: from an ONNX file to the description of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from tests.standin.tools import op_definition
from tests.standin.tools.log import RefusedError
from tests.standin.tools.meta import CODES, FLOAT16, FLOAT32, Meta
from tests.standin.tools.names import tensor_name
from tests.standin.tools.onnx_graph import (
    choose_outputs,
    describe_input,
    describe_outputs,
    fix_shapes,
    graph_inputs,
    own_operators,
    split,
)
from tests.standin.tools.release import Release

QNN_OWN = "qti.aisw"
ANY = "*"  # --package_name says one package for all operators


class Wanted(NamedTuple):
    """What the flags say of the tensors."""

    dims: Mapping[str, Sequence[int]]
    dtypes: Mapping[str, str]
    layouts: Mapping[str, str]
    symbols: Mapping[str, int]
    batch: int | None
    outputs: Sequence[str]
    keep_layout: Sequence[str] | None  # None: of no input; empty: of all
    float_bits: int
    packages: Mapping[str, str] | None = None  # own operator → package; None: none is described


def graph_of(
    model: onnx.ModelProto, name: str, prefix: str, wanted: Wanted, release: Release
) -> tuple[Meta, bytes]:
    """The graph and the tar of its weights; `model` is changed."""
    names = [value.name for value in graph_inputs(model)]
    for given in [*wanted.dtypes, *wanted.layouts]:
        if given not in names:
            raise RefusedError(f"Input name {given} is not an input of the model: {names}")
    fix_shapes(model, wanted.dims, wanted.symbols, wanted.batch)
    choose_outputs(model, wanted.outputs)
    own = own_operators(model)
    known = wanted.packages or {}
    if unknown := [op for op in own if op not in known and ANY not in known]:
        raise RefusedError(f"No translation registered for op type(s): {', '.join(unknown)}")
    keep = wanted.keep_layout
    inputs = [
        describe_input(
            value,
            dtype=wanted.dtypes.get(value.name),
            layout=wanted.layouts.get(value.name),
            keep=keep is not None and (not keep or value.name in keep),
        )
        for value in graph_inputs(model)
    ]
    outputs = describe_outputs(model, inputs)
    if wanted.float_bits == 16:
        for tensor in [*inputs, *outputs]:
            if tensor["dtype"] == FLOAT32:
                tensor["dtype"] = FLOAT16
    structure, weights = split(model)
    meta: Meta = {
        "sdk": release.version,
        "build_id": release.build_id,
        "graph": name,
        "prefix": prefix,
        "inputs": inputs,
        "outputs": outputs,
        "statics": [_static(tensor) for tensor in model.graph.initializer],
        "nodes": [
            _node(node, at, known if node.op_type in own else {})
            for at, node in enumerate(model.graph.node)
        ],
        "structure": structure,
        "quantized": False,
        "own_operators": own,
        "float_bits": wanted.float_bits,
    }
    return meta, weights


def dims_of(pairs: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    try:
        return {name: [int(part) for part in dims.split(",")] for name, dims in pairs}
    except ValueError as problem:
        raise RefusedError(f"Invalid dimensions: {problem}") from problem


def _static(weight: onnx.TensorProto) -> Meta:
    value = numpy_helper.to_array(weight)
    return {
        "name": tensor_name(weight.name),
        "source": weight.name,
        "dtype": CODES.get(value.dtype.name, FLOAT32),
        "dims": list(value.shape),
        "order": list(range(value.ndim)),
        "count": int(np.prod(value.shape, dtype=np.int64)),
    }


def _node(node: onnx.NodeProto, at: int, packages: Mapping[str, str]) -> Meta:
    return {
        "name": tensor_name(node.name or f"{node.op_type}_{at}"),
        "package": packages.get(node.op_type) or packages.get(ANY) or QNN_OWN,
        "type": node.op_type,
        "inputs": [tensor_name(name) for name in node.input if name],
        "outputs": [tensor_name(name) for name in node.output if name],
    }


def packages_of(configs: Sequence[str] | None, name: str | None) -> dict[str, str] | None:
    """What --op_package_config or --package_name says of the user's own operators."""
    if configs:
        return op_definition.known(configs)
    return {ANY: name} if name else None
