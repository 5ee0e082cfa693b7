"""Calibration samples as the SDK's converter wants them: raw files and the list of them.

The converter makes 3-D to 5-D float inputs channel-last unless their layout is said, and takes a
file in whichever layout it has: only the size is checked. So the order in which it has an input's
dimensions is read from what it wrote, and the files are turned into that.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.work.feeds import feed_files, read_feeds
from qnnbuild.work.run import WorkError

FOLDER = "samples"
CHANNEL_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}

Order = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Input:
    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def as_written(self) -> Order:
        return tuple(range(len(self.shape)))


def guess(one: Input, kept: Collection[str]) -> Order:
    """The order that the converter gives an input of which nobody says the layout."""
    if one.name in kept or not one.dtype.startswith("float"):
        return one.as_written
    return CHANNEL_LAST.get(len(one.shape), one.as_written)


def found_order(one: Input, tensor: Mapping[str, Any], guessed: Order) -> Order:
    """The order in which the converted graph has the input, by its description in _net.json."""
    dims = tuple(tensor.get("dims") or tensor.get("current_dims") or ())
    told = told_order(tensor, len(one.shape))
    orders: list[Order] = [*([told] if told else []), guessed, one.as_written]
    orders += [CHANNEL_LAST[len(one.shape)]] if len(one.shape) in CHANNEL_LAST else []
    if len(one.shape) <= 5:
        orders += itertools.permutations(one.as_written)
    for order in orders:
        if tuple(one.shape[axis] for axis in order) == dims:
            return order
    raise WorkError(
        f"the converter gave the input '{one.name}' other sizes",
        place=f"inputs.{one.name}",
        facts=[("model", _sizes(one.shape)), ("converted", _sizes(dims))],
        hint=f"inputs: {{{one.name}: {{layout: …}}}} says how its dimensions lie",
    )


def told_order(tensor: Mapping[str, Any], rank: int) -> Order | None:
    """For each dimension of a converted tensor the model's one, where _net.json tells that."""
    told = tensor.get("permute_order_to_src")
    if not isinstance(told, list) or sorted(told) != list(range(rank)):
        return None
    return tuple(told.index(axis) for axis in range(rank))


def write_samples(
    feeds: Path, inputs: Sequence[Input], orders: Mapping[str, Order], list_file: Path
) -> int:
    """Raw files in the inputs' own types, and the list; how many samples there are.

    Bare paths in the order of the graph's inputs: names in the list would have to be the SDK's.
    """
    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    files = feed_files(feeds)
    lines = []
    for number, sample in enumerate(read_feeds(files, [one.name for one in inputs])):
        paths = []
        for place, one in enumerate(inputs):
            path = folder / f"{number:06}-{place}.raw"
            array = sample[one.name]
            plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
            turned = np.ascontiguousarray(np.transpose(plain, orders[one.name]))
            path.write_bytes(turned.tobytes())
            paths.append(path.as_posix())
        lines.append(" ".join(paths) + "\n")
    list_file.write_text("".join(lines), encoding="ascii", newline="\n")
    return len(lines)


def _sizes(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def described(net: Mapping[str, Any], kind: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Tensors of _net.json that are inputs (0) or outputs (1) of the graph."""
    for name, tensor in net.get("graph", {}).get("tensors", {}).items():
        if tensor.get("type") == kind:
            yield name, tensor
