"""What the prepared graph takes and gives, read from its file without the weights."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.errors import did_you_mean
from qnnbuild.formats.onnx_file import read_onnx
from qnnbuild.formats.tensor import TensorFacts
from qnnbuild.work.npz import Array
from qnnbuild.work.run import WorkError
from qnnbuild.work.shapes import written

KNOWN = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64"),
)
"""Types that .npz files hold."""

LAYOUTS = {(0, 3, 1, 2): "np.transpose(a, (0, 2, 3, 1))", (0, 2, 3, 1): "np.moveaxis(a, -1, 1)"}


@dataclass(frozen=True, kw_only=True)
class Border:
    """An input of the graph, as every sample must have it."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def told(self) -> str:
        return f"{self.dtype} {written(self.shape)}"


def borders_of(folder: Path) -> tuple[tuple[Border, ...], tuple[TensorFacts, ...]]:
    """Inputs and outputs of model.onnx in `folder`, in its order."""
    with (
        (folder / "model.onnx").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as data,
    ):
        facts = read_onnx(data)
    return tuple(_border(tensor) for tensor in facts.inputs), facts.outputs


def _border(tensor: TensorFacts) -> Border:
    if tensor.dtype not in KNOWN:
        raise WorkError(
            f"input '{tensor.name}' is {tensor.dtype}, of which files of samples know nothing",
            place=f"inputs.{tensor.name}",
            hint=f"write inputs: {{{tensor.name}: {{dtype: float32}}}}",
            exit_code=2,
        )
    shape = tuple(size for size in tensor.shape if isinstance(size, int))
    if len(shape) != len(tensor.shape):
        raise WorkError(
            f"input '{tensor.name}' has no fixed shape: {written(tensor.shape)}",
            place=f"inputs.{tensor.name}",
        )
    return Border(name=tensor.name, dtype=np.dtype(tensor.dtype), shape=shape)


def called(file: str, border: Border, borders: Sequence[Border]) -> str:
    """How an array is called in a message: by its file, and by its input where it has several."""
    return f"'{file}'" if len(borders) == 1 else f"'{file}': '{border.name}'"


def fitted(array: Array, border: Border, shown: str) -> tuple[Array, str | None]:
    """The array in the input's shape and type, and how its type was changed."""
    check_shape(array.shape, border, shown)
    if array.dtype.kind == "f":
        check_finite(array, shown)
    if array.dtype == border.dtype:
        return array, None
    return _cast(array, border, shown)


def check_shape(shape: Sequence[int], border: Border, shown: str) -> None:
    if tuple(shape) != border.shape:
        raise WorkError(
            f"{shown} has the shape {written(shape)}",
            place="samples",
            facts=[("wanted", f"{border.name}: {border.told}")],
            hint=_shape_hint(shape, border.shape),
            exit_code=2,
        )


def check_finite(array: Array, shown: str) -> None:
    if not np.all(finite := np.isfinite(array)):
        first = np.unravel_index(int(np.argmin(finite)), array.shape)
        raise WorkError(
            f"{shown} has {np.count_nonzero(~finite)} values that are not finite",
            place="samples",
            facts=[("first", f"{array[first]} at {written([int(i) for i in first])}")],
            exit_code=2,
        )


def _shape_hint(shape: Sequence[int], wanted: Sequence[int]) -> str | None:
    if tuple(wanted) == (1, *shape):
        return "the batch axis is missing: save a[np.newaxis] instead of a"
    if tuple(shape) == (1, *wanted):
        return "it has one axis too many: save a[0] instead of a"
    for axes, how in LAYOUTS.items():
        if len(shape) == 4 == len(wanted) and [wanted[axis] for axis in axes] == list(shape):
            return f"its axes stand in another order: save {how} instead of a"
    if len(shape) == len(wanted) and list(shape[1:]) == list(wanted[1:]):
        return f"the graph takes {wanted[0]} at once: save pieces of {wanted[0]}"
    return None


def _cast(array: Array, border: Border, shown: str) -> tuple[Array, str]:
    """Every value must survive; a float may be rounded to fewer digits, but not leave the range."""
    with np.errstate(all="ignore"):
        cast = array.astype(border.dtype)
        if array.dtype.kind == border.dtype.kind == "f":
            lost = ~np.isfinite(cast)
            how = "rounded" if np.any(cast.astype(array.dtype) != array) else "exact"
        else:
            back = cast.astype(array.dtype)
            lost = (back != array) | ((cast < 0) != (array < 0))
            how = "exact"
    if np.any(lost):
        first = np.unravel_index(int(np.argmax(lost)), array.shape)
        raise WorkError(
            f"{shown} is {array.dtype} and cannot become {border.dtype}",
            place="samples",
            facts=[
                ("wanted", f"{border.name}: {border.told}"),
                ("values that change", f"{np.count_nonzero(lost)} of {array.size}"),
                ("first", f"{array[first]} would be {cast[first]}"),
            ],
            exit_code=2,
        )
    return cast, f"{array.dtype.newbyteorder('=')} → {border.dtype}, {how}"


def check_names(
    found: Sequence[str], borders: Sequence[Border], file: str, *, what: str = "array"
) -> None:
    """Every input has its array; the nearest of those that no input has is suggested."""
    known = {border.name for border in borders}
    spare = [name for name in found if name not in known]
    for border in borders:
        if border.name not in found:
            near = did_you_mean(border.name, spare)
            raise WorkError(
                f"'{file}' has no {what} for the input '{border.name}'",
                place="samples",
                facts=[(f"its {what}s", ", ".join(found) or "none"), ("wanted", border.told)],
                hint=near.replace("did you mean", "was this meant:") if near else None,
                exit_code=2,
            )


def spec_of(raw: Mapping[str, Mapping[str, Any]], border: Border) -> Border:
    """What a raw file of this input holds: as the recipe says, else as the graph takes it."""
    said = raw.get(border.name)
    if said is None:
        return border
    return Border(name=border.name, dtype=np.dtype(said["dtype"]), shape=tuple(said["shape"]))
