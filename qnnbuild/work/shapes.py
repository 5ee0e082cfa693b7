"""Shapes: fixed by the recipe, validated before, complete afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, shape_inference

from qnnbuild.errors import did_you_mean
from qnnbuild.work.model_bytes import give_weights, take_weights
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import dtype_of, graphs, made_by, reads_of, shape_of

Shape = tuple[int | str, ...]

SIZED_BY_NUMBERS = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})
"""Operators whose specification leaves the size of an answer to the values of the inputs."""

MOST_ELEMENTS = 1 << 29
"""Of one input: 2 GiB of float32, more than any chip's NPU can reach."""


def check_input_names(model: ModelProto, names: Sequence[str], *, key: str) -> None:
    """Every name of the recipe's `key` ("inputs" or "constants") is an input of the graph."""
    known = [value.name for value in model.graph.input]
    for name in names:
        if name not in known:
            raise WorkError(
                f"the graph has no input '{name}'",
                place=f"{key}.{name}",
                facts=[("its inputs", ", ".join(known) or "none")],
                hint=did_you_mean(name, known) or _by_place(names, known),
                exit_code=2,
            )


def _by_place(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Where the one unknown name stands for the one input that the recipe does not have."""
    unknown, missing = ([*names], [*known])
    for name in set(names) & set(known):
        unknown.remove(name)
        missing.remove(name)
    return (
        f"call it '{missing[0]}' in the recipe, too" if len(unknown) == len(missing) == 1 else None
    )


def fix_shapes(model: ModelProto, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Give the inputs the recipe's shapes; sizes that the file fixes cannot be changed."""
    for value in model.graph.input:
        shape = wanted.get(value.name, {}).get("shape")
        if shape is None:
            continue
        _check_shape(value, tuple(shape))
        dims = value.type.tensor_type.shape.dim
        del dims[:]
        value.type.tensor_type.shape.SetInParent()  # a scalar has a shape too: an empty one
        for size in shape:
            dims.add().dim_value = size


def _check_shape(value: ValueInfoProto, shape: tuple[int, ...]) -> None:
    name, place = value.name, f"inputs.{value.name}"
    had = shape_of(value)
    facts = [("in the model", written(had)), ("in the recipe", written(shape))]
    if any(size <= 0 for size in shape):
        raise WorkError(
            f"input '{name}': every size must be greater than 0",
            place=place,
            facts=facts,
            exit_code=2,
        )
    if had is None:
        return
    if len(had) != len(shape):
        raise WorkError(
            f"input '{name}' has {len(had)} dimensions, the recipe gives {len(shape)}",
            place=place,
            facts=facts,
            exit_code=2,
        )
    for index, (old, new) in enumerate(zip(had, shape, strict=True)):
        if isinstance(old, int) and old > 0 and old != new:
            raise WorkError(
                f"input '{name}': dimension {index} is {old} in the model, the recipe says {new}",
                place=place,
                facts=facts,
                hint=f"write {new_shape(had, shape)}, or export the model with that size",
                exit_code=2,
            )
    _check_same_symbols(name, had, shape)


def new_shape(had: Shape, shape: tuple[int, ...]) -> str:
    """The recipe's shape with all sizes that the model has fixed."""
    fixed = (
        old if isinstance(old, int) and old > 0 else new
        for old, new in zip(had, shape, strict=True)
    )
    return f"shape: [{', '.join(map(str, fixed))}]"


def _check_same_symbols(name: str, had: Shape, shape: tuple[int, ...]) -> None:
    sizes: dict[str, int] = {}
    for old, new in zip(had, shape, strict=True):
        if not isinstance(old, str) or not any(letter.isalnum() for letter in old):
            continue  # some exporters write '?' for every size that they do not know
        if sizes.setdefault(old, new) != new:
            raise WorkError(
                f"input '{name}': '{old}' cannot be {sizes[old]} and {new}",
                place=f"inputs.{name}",
                facts=[("in the model", written(had)), ("in the recipe", written(shape))],
                exit_code=2,
            )


def check_fixed(model: ModelProto) -> None:
    """Every input has a whole shape, all of it in one message."""
    told: list[str] = []
    lines: list[str] = []
    bad: list[str] = []
    facts: list[tuple[str, str]] = []
    for value in model.graph.input:
        shape = shape_of(value)
        said = _what_is_missing(value.name, shape)
        if said is None:
            continue
        bad.append(value.name)
        told.append(said)
        facts.append((value.name, f"{dtype_of(value)} {written(shape)}"))
        lines.append(f"{value.name}: {{shape: {_to_write(shape)}}}")
    if told:
        raise WorkError(
            "; ".join(told),
            place=f"inputs.{bad[0]}",
            facts=facts,
            hint=f"write inputs: {{{', '.join(lines)}}} with numbers for the names",
            exit_code=2,
        )
    for value in model.graph.input:
        _check_size(value)


def _check_size(value: ValueInfoProto) -> None:
    """Samples of it are made and held in memory: sizes that none can be are told before."""
    shape = [size for size in shape_of(value) or () if isinstance(size, int)]
    if any(size < 0 for size in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise WorkError(
            f"input '{value.name}' has {math.prod(shape):,} elements",
            place=f"inputs.{value.name}",
            facts=[(value.name, f"{dtype_of(value)} {written(shape)}")],
            hint=f"more than {MOST_ELEMENTS:,} fit into no NPU: write inputs: "
            f"{{{value.name}: {{shape: […]}}}}",
            exit_code=2,
        )


def _what_is_missing(name: str, shape: Shape | None) -> str | None:
    if shape is None:
        return f"input '{name}': {name} has no shape"
    zeros = [f"dimension {i} is 0" for i, size in enumerate(shape) if size == 0]
    if zeros:
        return f"input '{name}': {', '.join(zeros)}"
    open_ = [
        f"dimension {i} '{size or '?'}'" for i, size in enumerate(shape) if isinstance(size, str)
    ]
    if not open_:
        return None
    sizes = "give a size" if len(open_) == 1 else "give sizes"
    return f"input '{name}': {', '.join(open_)}: {sizes}"


def _to_write(shape: Shape | None) -> str:
    if shape is None:
        return "[…]"
    sizes = [size or f"D{index}" for index, size in enumerate(shape)]
    return f"[{', '.join(str(size) for size in sizes)}]"


def written(shape: Sequence[int | str] | None) -> str:
    """ "[1, 3, H, ?]", or "no shape"."""
    if shape is None:
        return "no shape"
    return f"[{', '.join(str(size) if size != '' else '?' for size in shape)}]"


def infer(model: ModelProto, kept: Sequence[ValueInfoProto] = ()) -> ModelProto:
    """The model with all shapes inferred anew from its inputs; what stood there is forgotten.

    But for what is `kept`. An output that nothing can be inferred for keeps what the file said:
    onnxsim wants some shape.
    """
    before = {
        value.name: TypeProto.FromString(value.type.SerializeToString())
        for value in model.graph.output
    }
    given = {value.name: value.type for value in model.graph.input}
    for graph in graphs(model):
        del graph.value_info[:]
    model.graph.value_info.extend(kept)
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    weights = take_weights(model)
    try:
        inferred = shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except (shape_inference.InferenceError, RuntimeError) as error:
        raise WorkError(
            "the shapes do not fit together",
            place="inputs",
            facts=[("onnx says", first_line(error))],
            hint="compare the recipe's shapes with what the model was trained for",
            exit_code=2,
        ) from None
    finally:
        give_weights(model, weights)
    model = inferred
    give_weights(model, weights)
    for value in model.graph.output:
        if value.name in given:
            value.type.CopyFrom(given[value.name])
        elif shape_of(value) is None and before[value.name].tensor_type.HasField("shape"):
            value.type.CopyFrom(before[value.name])
    return model


def sized_by(model: ModelProto, output: str) -> NodeProto | None:
    """A node before this output whose answer is as long as its numbers decide."""
    makers = made_by(model.graph)
    waiting, seen = [output], {output}
    while waiting:
        node = makers.get(waiting.pop())
        if node is None:
            continue
        if node.op_type in SIZED_BY_NUMBERS:
            return node
        waiting += reads_of(node) - seen
        seen |= reads_of(node)
    return None


def first_line(error: Exception) -> str:
    """What an exception says, without its trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:400] if lines else type(error).__name__


def set_shape(value: ValueInfoProto, shape: Sequence[int]) -> None:
    elem_type = value.type.tensor_type.elem_type
    value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, elem_type, list(shape)))
