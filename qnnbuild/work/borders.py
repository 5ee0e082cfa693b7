"""The graph's borders as the recipe wants them: constants, outputs, types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from qnnbuild.errors import did_you_mean
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import (
    all_names,
    dtype_of,
    elem_type_of,
    free_name,
    graphs,
    made_by,
    nodes,
    reads_of,
    shape_of,
)

_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("float16", "float32", "float64", "bfloat16"), "float"),
    **dict.fromkeys(
        ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
        "integer",
    ),
}
"""Types that may stand for one another at a border."""


def drop_stored_inputs(model: ModelProto) -> None:
    """Old files list weights as inputs too: they are defaults that nobody gives."""
    for graph in graphs(model):
        stored = {tensor.name for tensor in graph.initializer}
        kept = [value for value in graph.input if value.name not in stored]
        if len(kept) != len(graph.input):
            copies = [ValueInfoProto.FromString(value.SerializeToString()) for value in kept]
            del graph.input[:]
            graph.input.extend(copies)


def freeze(model: ModelProto, constants: Mapping[str, Any]) -> None:
    """Turn inputs into constants of the recipe's values; their names are checked before."""
    for name, value in constants.items():
        given = next(v for v in model.graph.input if v.name == name)
        array = constant_array(given, value)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
        model.graph.input.remove(given)


def constant_array(given: ValueInfoProto, value: Any) -> np.ndarray[Any, Any]:
    """The recipe's number or numbers in the input's own type and shape."""
    name, shape = given.name, shape_of(given)
    dtype = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
    numbers = np.asarray(value)
    with np.errstate(all="ignore"):
        array = numbers.astype(dtype)
    if np.any(array.astype(numbers.dtype) != numbers) and not np.issubdtype(dtype, np.floating):
        raise WorkError(
            f"constant '{name}': {value} is not {dtype_of(given)}",
            place=f"constants.{name}",
            exit_code=2,
        )
    sizes = [size if isinstance(size, int) and size > 0 else None for size in shape or ()]
    if array.ndim == 0:  # one number fills the input; a dimension without a size gets 1
        return np.full([size or 1 for size in sizes], array, dtype)
    if shape is None:
        return array
    free = [index for index, size in enumerate(sizes) if size is None]
    known = int(np.prod([size for size in sizes if size is not None], dtype=np.int64))
    first = -1 if not free else array.size // known
    filled = [
        (first if index == free[0] else 1) if s is None else s for index, s in enumerate(sizes)
    ]
    if int(np.prod(filled, dtype=np.int64)) != array.size:
        raise WorkError(
            f"constant '{name}' has {array.size} numbers, the input takes {known}",
            place=f"constants.{name}",
            exit_code=2,
        )
    return array.reshape(filled)


def cut_outputs(model: ModelProto, wanted: Sequence[str]) -> None:
    """Make the recipe's tensors the outputs, in its order, and drop what nothing needs any more."""
    if not wanted:
        return
    graph = model.graph
    makers = made_by(graph)
    known = [*(v.name for v in graph.output), *makers, *(v.name for v in graph.input)]
    values = {v.name: v for v in [*graph.value_info, *graph.input, *graph.output]}
    chosen: list[ValueInfoProto] = []
    for name in wanted:
        if name not in known:
            raise WorkError(
                f"the graph has no tensor '{name}'",
                place="outputs",
                facts=[("its outputs", ", ".join(v.name for v in graph.output))],
                hint=did_you_mean(name, known),
                exit_code=2,
            )
        value = ValueInfoProto(name=name)
        if name in values:
            value.CopyFrom(values[name])
        chosen.append(value)
    if [v.name for v in graph.output] == list(wanted):
        return
    del graph.output[:]
    graph.output.extend(chosen)
    drop_unneeded(model)


def complete_types(model: ModelProto, infer: Callable[[ModelProto], ModelProto]) -> None:
    """Give inner tensors that became outputs their types, where the file does not say them."""
    untyped = [value for value in model.graph.output if not value.type.tensor_type.elem_type]
    if not untyped:
        return
    copy = ModelProto()
    copy.CopyFrom(model)
    found = {value.name: value for value in infer(copy).graph.output}
    for value in untyped:
        if not found[value.name].type.tensor_type.elem_type:
            raise WorkError(
                f"nobody can tell the type of the tensor '{value.name}'",
                place="outputs",
                hint="keep another tensor, or export the model with the types of inner tensors",
                exit_code=2,
            )
        value.CopyFrom(found[value.name])


def check_judged(model: ModelProto, judged: Sequence[str]) -> None:
    """What the recipe has bars for are outputs."""
    known = [value.name for value in model.graph.output]
    for name in judged:
        if name not in known:
            raise WorkError(
                f"the graph has no output '{name}'",
                place=f"verify.outputs.{name}",
                facts=[("its outputs", ", ".join(known))],
                hint=did_you_mean(name, known),
                exit_code=2,
            )


def drop_unneeded(model: ModelProto) -> None:
    """Remove nodes and weights that no output needs; inputs stay as the interface."""
    graph = model.graph
    needed = {value.name for value in graph.output}
    for index in reversed(range(len(graph.node))):
        node = graph.node[index]
        if needed.intersection(node.output):
            needed |= reads_of(node)
        else:
            del graph.node[index]
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name not in needed:
            del graph.initializer[index]


def type_borders(
    model: ModelProto, inputs: Mapping[str, Mapping[str, Any]], outputs: Mapping[str, str]
) -> dict[str, str]:
    """Give borders the recipe's types with a Cast inside. Returns what changed."""
    changed: dict[str, str] = {}
    taken = all_names(model)
    for value in model.graph.input:
        wanted = inputs.get(value.name, {}).get("dtype")
        if wanted is not None and wanted != dtype_of(value):
            changed[value.name] = f"{dtype_of(value)} → {wanted}"
            _cast_input(model, value, _checked(value, wanted, "inputs"), taken)
    for value in model.graph.output:
        wanted = outputs.get(value.name)
        if wanted is not None and wanted != dtype_of(value):
            changed[value.name] = f"{dtype_of(value)} → {wanted}"
            _cast_output(model, value, _checked(value, wanted, "outputs"), taken)
    return changed


def _checked(value: ValueInfoProto, wanted: str, key: str) -> int:
    elem_type = elem_type_of(wanted)
    had = dtype_of(value)
    if elem_type is None or _FAMILIES.get(had) != _FAMILIES.get(wanted, "none"):
        raise WorkError(
            f"{key[:-1]} '{value.name}' is {had} in the model and cannot become {wanted}",
            place=f"{key}.{value.name}",
            facts=[(f"{_FAMILIES.get(had, had)} types", ", ".join(_alike(had)))],
            exit_code=2,
        )
    return elem_type


def _alike(had: str) -> list[str]:
    return [name for name, family in _FAMILIES.items() if family == _FAMILIES.get(had)]


def _cast_input(model: ModelProto, value: ValueInfoProto, to: int, taken: set[str]) -> None:
    had = value.type.tensor_type.elem_type
    inner = free_name(f"{value.name}_{dtype_of(value)}", taken)
    _rename_reads(model, value.name, inner)
    value.type.tensor_type.elem_type = to
    cast = helper.make_node("Cast", [value.name], [inner], name=f"Cast_{inner}", to=had)
    nodes_ = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend([cast, *nodes_])


def _cast_output(model: ModelProto, value: ValueInfoProto, to: int, taken: set[str]) -> None:
    inner = free_name(f"{value.name}_{dtype_of(value)}", taken)
    if any(given.name == value.name for given in model.graph.input):
        raise WorkError(
            f"output '{value.name}' is the input itself and cannot have another type",
            place=f"outputs.{value.name}",
            exit_code=2,
        )
    maker = made_by(model.graph).get(value.name)
    if maker is not None:
        maker.output[list(maker.output).index(value.name)] = inner
    for tensor in model.graph.initializer:
        if tensor.name == value.name:
            tensor.name = inner
    _rename_reads(model, value.name, inner)
    value.type.tensor_type.elem_type = to
    cast = helper.make_node("Cast", [inner], [value.name], name=f"Cast_{value.name}", to=to)
    model.graph.node.append(cast)


def _rename_reads(model: ModelProto, old: str, new: str) -> None:
    for node in nodes(model):
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = new


def check_no_doubles(model: ModelProto) -> None:
    """The plugin composes no graph with doubles in it, even when the CPU may help."""
    for key, values in (("input", model.graph.input), ("output", model.graph.output)):
        for value in values:
            if value.type.tensor_type.elem_type == TensorProto.DOUBLE:
                raise _double(f"{key} '{value.name}' is double", f"{key}s.{value.name}")
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.DOUBLE:
            raise _double(f"the constant '{tensor.name}' is double", "cast")
    for node in nodes(model):
        to = next((a.i for a in node.attribute if a.name == "to"), None)
        if node.op_type == "Cast" and to == onnx.TensorProto.DOUBLE:
            raise _double(f"node '{node.name}' (Cast) makes doubles", "cast")


def _double(message: str, place: str) -> WorkError:
    return WorkError(
        f"{message}, which no NPU computes with",
        place=place,
        facts=[("type", "double (float64)")],
        hint="write cast: {float64: float32}",
        exit_code=2,
    )
