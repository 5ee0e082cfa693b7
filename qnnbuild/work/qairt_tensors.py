"""Inputs and outputs of a binary of Qualcomm's SDK: its own types and layouts, and the model's.

Three things differ from the ONNX model: names (what is no letter or digit becomes _), the order of
dimensions, and types: floats become whole numbers with a scale, int64 becomes int32. The names of
the model are those of samples and answers; the binary says the rest of itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnnbuild.formats.context_json import BorderTensor
from qnnbuild.work.npz import Array
from qnnbuild.work.qairt_convert import sdk_name
from qnnbuild.work.qairt_samples import Input, Order, found_order, guess
from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import written

DTYPES = {"bool8": "uint8", "bool": "uint8"}
"""Types that are called otherwise by numpy."""

NOT_GOOD = 5


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Whose dimensions the converter leaves in their order: those of these names, or all."""

    names: Collection[str] = ()
    all: bool = False

    def __contains__(self, name: object) -> bool:
        return self.all or name in self.names


@dataclass(frozen=True, kw_only=True)
class Border:
    """One input or output. `order`: for each dimension of the binary which one of the model."""

    name: str  # the model's
    tensor: BorderTensor
    order: Order

    @property
    def dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self.tensor)

    @property
    def count(self) -> int:
        return int(np.prod(self.tensor.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize

    def native(self, array: Array) -> bytes:
        """An array of the model's as the binary takes it."""
        turned = np.ascontiguousarray(np.transpose(_stored(self, array), self.order))
        return turned.astype(self.dtype.newbyteorder("<"), copy=False).tobytes()

    def plain(self, data: bytes, *, is_native: bool = True) -> Array:
        """What the binary wrote, in the model's order, and floats where the model has floats."""
        dtype = self.dtype if is_native else np.dtype(np.float32)
        array = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype)
        array = array.reshape(self.tensor.shape)
        if is_native and self.tensor.scale is not None:
            steps = array.astype(np.float64) + (self.tensor.offset or 0)
            array = (steps * self.tensor.scale).astype(np.float32)
        back = tuple(self.order.index(axis) for axis in range(len(self.order)))
        return np.ascontiguousarray(np.transpose(array, back))


def numpy_dtype(tensor: BorderTensor) -> np.dtype[Any]:
    try:
        return np.dtype(DTYPES.get(tensor.dtype, tensor.dtype))
    except TypeError:
        raise WorkError(
            f"'{tensor.name}' of the binary has the type {tensor.dtype}, which no file can have",
            place="graph",
            exit_code=NOT_GOOD,
        ) from None


def _stored(border: Border, array: Array) -> Array:
    """The same numbers in the binary's type; never cut off in silence, but where it rounds.

    Whole numbers of the very type are steps already: so has a model its input that begins with a
    DequantizeLinear. Others are numbers, whatever their type.
    """
    tensor, dtype = border.tensor, border.dtype
    is_of_steps = array.dtype.kind in "iu" and array.dtype == dtype
    if tensor.scale is not None and not is_of_steps:
        limits = np.iinfo(dtype)
        steps = np.rint(array.astype(np.float64) / tensor.scale) - (tensor.offset or 0)
        quantized: Array = np.clip(steps, limits.min, limits.max).astype(dtype)
        return quantized
    if dtype.kind == "f" or array.dtype.kind == "b":
        return array.astype(dtype)
    limits = np.iinfo(dtype)
    if array.dtype.kind == "f":
        raise WorkError(
            f"the input '{border.name}' is {dtype} in the binary, with no scale, and floats here",
            place=f"inputs.{border.name}",
            exit_code=NOT_GOOD,
        )
    if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
        raise WorkError(
            f"a sample of '{border.name}' has {array.max()}, and the binary has {dtype} there",
            place=f"inputs.{border.name}",
            hint="verify: {inputs: {" + border.name + ": …}} with values as they occur",
            exit_code=NOT_GOOD,
        )
    return array.astype(dtype)


def inputs_of(
    sample: Mapping[str, Array],
    tensors: Sequence[BorderTensor],
    told: Mapping[str, Mapping[str, Any]],
    kept: Kept,
) -> list[Border]:
    """In the binary's order. `told` are the tensors of what was read back, by their names."""
    ours = _by_tensor(sample, [tensor.name for tensor in tensors], "input")
    found = []
    for tensor in tensors:
        if tensor.name not in ours:
            raise WorkError(
                f"the binary wants an input '{tensor.name}', of which there is no sample",
                place="inputs",
                facts=[("samples", ", ".join(sample))],
                exit_code=NOT_GOOD,
            )
        name = ours[tensor.name]
        one = Input(name=name, dtype=sample[name].dtype.name, shape=sample[name].shape)
        order = _said(tensor, told, one.shape)
        if order is None:
            guessed = one.as_written if name in kept else guess(one, ())
            order = found_order(one, {"dims": tensor.shape}, guessed)
        found.append(Border(name=name, tensor=tensor, order=order))
    return found


def outputs_of(
    shapes: Mapping[str, tuple[int, ...] | None],
    tensors: Sequence[BorderTensor],
    told: Mapping[str, Mapping[str, Any]],
    kept: Kept,
) -> list[Border]:
    """In the order of `shapes`, which has the model's own; None where nobody knows it."""
    names = _by_tensor(shapes, [tensor.name for tensor in tensors], "output")
    by_ours = {names[tensor.name]: tensor for tensor in tensors if tensor.name in names}
    return [
        Border(
            name=name, tensor=by_ours[name], order=_order(name, shape, by_ours[name], told, kept)
        )
        for name, shape in shapes.items()
    ]


def _by_tensor(ours: Collection[str], theirs: Sequence[str], what: str) -> dict[str, str]:
    """The binary's name → the model's. Every one of the model's is in the binary, once."""
    found: dict[str, str] = {}
    for name in ours:
        tensor = name if name in theirs else sdk_name(name)
        if tensor not in theirs:
            raise WorkError(
                f"the binary has no {what} '{name}'",
                place=f"{what}s.{name}",
                facts=[("it has", ", ".join(theirs) or "none")],
                exit_code=NOT_GOOD,
            )
        if tensor in found:
            raise WorkError(
                f"the {what}s '{found[tensor]}' and '{name}' are both '{tensor}' in the binary",
                place=f"{what}s.{name}",
                hint="give one of them another name in the model",
                exit_code=NOT_GOOD,
            )
        found[tensor] = name
    return found


def _said(
    tensor: BorderTensor, told: Mapping[str, Mapping[str, Any]], shape: Sequence[int]
) -> Order | None:
    """The order that the converter told, where it fits."""
    order = told.get(tensor.name, {}).get("order")
    if not isinstance(order, list) or sorted(order) != list(range(len(shape))):
        return None
    fits = tuple(shape[axis] for axis in order) == tensor.shape
    return tuple(order) if fits else None


def _order(
    name: str,
    shape: tuple[int, ...] | None,
    tensor: BorderTensor,
    told: Mapping[str, Mapping[str, Any]],
    kept: Kept,
) -> Order:
    """Told by the converter; else the only one that fits. No rule says how an output lies."""
    if shape is not None and (said := _said(tensor, told, shape)) is not None:
        return said
    if shape is None or (name in kept and shape == tensor.shape):
        return tuple(range(len(tensor.shape)))
    fitting = list(_fitting(shape, tensor.shape))
    if not fitting:
        raise WorkError(
            f"the binary's output '{name}' has other sizes than the model's",
            place=f"outputs.{name}",
            facts=[("model", written(shape)), ("binary", written(tensor.shape))],
            exit_code=NOT_GOOD,
        )
    # axes of size 1 may stand anywhere: the bytes are the same
    if len({tuple(axis for axis in order if shape[axis] != 1) for order in fitting}) > 1:
        raise WorkError(
            f"nobody tells in which order the binary has the dimensions of '{name}'",
            place=f"outputs.{name}",
            facts=[("model", written(shape)), ("binary", written(tensor.shape))],
            hint=f"options: {{qairt: {{converter: {{preserve_io_layout: [{name}]}}}}}}",
            exit_code=NOT_GOOD,
        )
    return fitting[0]


def _fitting(shape: tuple[int, ...], dims: tuple[int, ...]) -> Iterator[Order]:
    if len(shape) != len(dims):
        return
    for order in itertools.permutations(range(len(shape))):
        if tuple(shape[axis] for axis in order) == dims:
            yield order
