"""Arrays in files of the user's, read one sample after the other: never more than one in memory."""

from __future__ import annotations

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from qnnbuild.work.npz import Array
from qnnbuild.work.run import WorkError

PLACE = "samples"

_BROKEN = (
    *(ValueError, OSError, EOFError, RuntimeError, SyntaxError, TypeError, LookupError),
    *(OverflowError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError),
)
"""What numpy and zipfile raise for files that are not whole, encrypted, or something else."""

MOST_TURNED = 2 << 30
"""Bytes of an array whose order has to be turned, which takes all of it at once."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(kw_only=True)
class Stored:
    """An array of a file; `take` gives the next elements, from its beginning on."""

    shown: str  # "'a.npz'": the file as the user knows it
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stream: IO[bytes] | None = None
    whole: Array | None = None  # where the elements do not stand in C order
    taken: int = 0

    def take(self, shape: Sequence[int]) -> Array:
        count = math.prod(shape)
        begin, self.taken = self.taken, self.taken + count
        if self.whole is not None:
            return self.whole[begin : self.taken].reshape(shape)
        assert self.stream is not None
        wanted = count * self.dtype.itemsize
        data = _exactly(self.stream, wanted)
        if len(data) != wanted:
            raise EOFError
        return np.frombuffer(data, self.dtype).reshape(shape)


def _exactly(stream: IO[bytes], wanted: int) -> bytearray:
    """Up to `wanted` bytes; a zip's stream gives them in parts."""
    data = bytearray()  # grows with what is there: a damaged header may promise anything
    while len(data) < wanted:
        part = stream.read(min(wanted - len(data), 1 << 20))
        if not part:
            break
        data += part
    return data


@contextmanager
def opened_npz(path: Path, shown: str, names: Sequence[str]) -> Iterator[dict[str, Stored]]:
    """The arrays of an .npz file that are called so; the others are not looked at."""
    with _told(path, f"'{shown}' is not a whole .npz file"), ExitStack() as stack:
        file = stack.enter_context(zipfile.ZipFile(path))
        found = {}
        for name in names:
            stream = stack.enter_context(file.open(f"{name}.npy"))
            found[name] = _array(stream, f"'{shown}': '{name}'", shown)
        yield found


def npz_names(path: Path, shown: str) -> list[str]:
    """What the arrays of an .npz file are called."""
    with _told(path, f"'{shown}' is not a whole .npz file"), zipfile.ZipFile(path) as file:
        return [name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")]


@contextmanager
def opened_npy(path: Path, shown: str) -> Iterator[Stored]:
    with _told(path, f"'{shown}' is not a whole .npy file"), path.open("rb") as stream:
        yield _array(stream, f"'{shown}'", shown)


@contextmanager
def opened_raw(
    path: Path, shown: str, *, dtype: np.dtype[Any], shape: tuple[int, ...], place: str
) -> Iterator[Stored]:
    """Little-endian elements and nothing else."""
    size, wanted = path.stat().st_size, math.prod(shape) * dtype.itemsize
    if size != wanted:
        raise WorkError(
            f"'{shown}' has {size} bytes, {wanted} are wanted",
            place=place,
            facts=[("wanted", f"{dtype} {list(shape)}"), *_stands_in(path)],
            hint=_raw_hint(size, wanted, dtype),
            exit_code=2,
        )
    with path.open("rb") as stream:
        yield Stored(shown=f"'{shown}'", dtype=dtype.newbyteorder("<"), shape=shape, stream=stream)


def _raw_hint(size: int, wanted: int, dtype: np.dtype[Any]) -> str:
    ways = "say in the recipe what it holds: inputs: {NAME: {dtype: …, shape: […]}}"
    if size and wanted and size % wanted == 0:
        times = size // wanted
        return f"{times} samples in one file are the first axis of its shape, [{times}, …]: {ways}"
    if size and wanted % size == 0 and dtype.itemsize % (wanted // size) == 0:
        return f"its elements may be smaller than those of {dtype}: {ways}"
    return ways


def _array(stream: IO[bytes], shown: str, file: str) -> Stored:
    """An array in numpy's form, up to the end of its header."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise WorkError(f"{shown} has fields, a plain array is wanted", place=PLACE, exit_code=2)
    shape, fortran, dtype = _HEADERS[version](stream)
    if dtype.hasobject or dtype.fields is not None or dtype.kind not in "biuf":
        raise WorkError(
            f"{shown} holds {'Python objects' if dtype.hasobject else dtype}, no numbers",
            place=PLACE,
            hint="save plain arrays: np.savez(file, x=np.stack(list_of_arrays))",
            exit_code=2,
        )
    found = Stored(shown=f"'{file}'", dtype=dtype, shape=shape, stream=stream)
    if fortran and len(shape) > 1:
        _check_whole(shape, dtype, shown)
        elements = found.take((math.prod(shape),))
        found.whole, found.taken = elements.reshape(shape, order="F").ravel(), 0
    return found


def _check_whole(shape: tuple[int, ...], dtype: np.dtype[Any], shown: str) -> None:
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > MOST_TURNED:
        raise WorkError(
            f"{shown} is {wanted:,} bytes in Fortran's order, which are read as a whole",
            place=PLACE,
            hint="save it in C order: np.savez(file, x=np.ascontiguousarray(x))",
            exit_code=2,
        )


@contextmanager
def _told(path: Path, message: str) -> Iterator[None]:
    """What goes wrong inside, as one error in the user's words."""
    try:
        yield
    except _BROKEN:
        size = path.stat().st_size
        facts = [("size", f"{size} bytes"), *_stands_in(path)]
        hint = "it may be cut short or of another kind: write it again"
        if any(what == "it is" for what, _ in facts):
            hint = "run git lfs pull"
        raise WorkError(message, place=PLACE, facts=facts, hint=hint, exit_code=2) from None


def _stands_in(path: Path) -> list[tuple[str, str]]:
    with path.open("rb") as file:
        pointer = file.read(64).startswith(b"version https://git-lfs")
    return [("it is", "a Git LFS pointer")] if pointer else []


def samples_in(arrays: Mapping[str, Stored], wanted: Mapping[str, tuple[int, ...]]) -> int | None:
    """How many samples the arrays hold along a leading axis; None: they are one sample as it is.

    A leading axis is one that the input does not have, or that stands where the input has a 1.
    Arrays of exactly the inputs' shapes are always one sample.
    """
    counts = {name: _count(arrays[name].shape, shape) for name, shape in wanted.items()}
    if 0 in counts.values():
        return None  # a shape that does not fit at all is told by who takes the one sample
    if len(set(counts.values())) == 1:
        return next(iter(counts.values()))
    first = next(iter(arrays.values()))
    raise WorkError(
        f"{first.shown}: its arrays do not hold the same number of samples",
        place=PLACE,
        facts=[
            (name, f"{list(arrays[name].shape)}: {1 if count is None else count}")
            for name, count in counts.items()
        ],
        hint="repeat what is the same in each sample: np.repeat(a[None], count, axis=0)",
        exit_code=2,
    )


def _count(shape: tuple[int, ...], wanted: tuple[int, ...]) -> int | None:
    """None: exactly one; 0: it does not fit."""
    if shape == wanted:
        return None
    longer = len(shape) == len(wanted) + 1 and shape[1:] == wanted
    batch = len(shape) == len(wanted) > 0 and wanted[0] == 1 and shape[1:] == wanted[1:]
    return shape[0] if longer or batch else 0
