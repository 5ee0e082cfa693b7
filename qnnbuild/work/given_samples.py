"""Samples that somebody gave, one after the other, in the types and shapes of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qnnbuild.work.npz import Array
from qnnbuild.work.pictures import Recipe, pixels
from qnnbuild.work.run import WorkError
from qnnbuild.work.sample_borders import (
    Border,
    called,
    check_names,
    check_shape,
    spec_of,
)
from qnnbuild.work.sample_units import Unit, listed, units_of
from qnnbuild.work.stored_arrays import (
    Stored,
    npz_names,
    opened_npy,
    opened_npz,
    opened_raw,
    samples_in,
)

POSITIONAL = "arr_0"
"""How numpy calls an array that was saved without a name."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """One sample; `shown` is the file that it is from, with its number where it holds several."""

    shown: str
    arrays: Mapping[str, Array]
    is_image: bool = False


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads what the recipe declares, for a graph with these inputs."""

    borders: tuple[Border, ...]
    raw: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    images: Recipe | None = None
    unused: set[str] = field(default_factory=set)  # arrays that no input takes

    def samples(self, folder: Path, patterns: Sequence[str]) -> Iterator[Given]:
        for unit in units_of(folder, listed(folder, patterns), self.borders):
            if unit.kind == "image":
                yield Given(shown=unit.shown, arrays=self._image(folder, unit), is_image=True)
            elif unit.kind == "npz":
                yield from self._npz(folder / unit.files[""], unit.shown)
            else:
                yield from self._files(folder, unit)

    def _npz(self, path: Path, shown: str) -> Iterator[Given]:
        names = npz_names(path, shown)
        inside = {border.name: border.name for border in self.borders}
        if len(self.borders) == 1 and names == [POSITIONAL]:
            inside = {self.borders[0].name: POSITIONAL}
        else:
            check_names(names, self.borders, shown)
        self.unused.update(set(names) - set(inside.values()))
        with opened_npz(path, shown, list(inside.values())) as stored:
            arrays = {name: stored[array] for name, array in inside.items()}
            yield from self._each(arrays, shown)

    def _files(self, folder: Path, unit: Unit) -> Iterator[Given]:
        check_names(list(unit.files), self.borders, unit.shown, what="file")
        with ExitStack() as stack:
            arrays = {
                border.name: stack.enter_context(
                    self._open(folder, unit.files[border.name], border)
                )
                for border in self.borders
            }
            self.unused.update(set(unit.files) - set(arrays))
            yield from self._each(arrays, unit.shown)

    def _open(self, folder: Path, file: str, border: Border) -> AbstractContextManager[Stored]:
        if file.lower().endswith(".npy"):
            return opened_npy(folder / file, file)
        holds = spec_of(self.raw, border)
        place = f"samples.inputs.{border.name}"
        return opened_raw(folder / file, file, dtype=holds.dtype, shape=holds.shape, place=place)

    def _each(self, arrays: Mapping[str, Stored], shown: str) -> Iterator[Given]:
        """The one sample, or those along the leading axis; never two of them in memory."""
        wanted = {border.name: border.shape for border in self.borders}
        count = samples_in(arrays, wanted)
        if count is None:
            for border in self.borders:  # before anything is read: it may be of any size
                check_shape(arrays[border.name].shape, border, called(shown, border, self.borders))
            whole = {name: stored.take(stored.shape) for name, stored in arrays.items()}
            yield Given(shown=shown, arrays=whole)
            return
        for index in range(count):
            one = {name: stored.take(wanted[name]) for name, stored in arrays.items()}
            yield Given(shown=f"{shown}[{index}]", arrays=one)

    def _image(self, folder: Path, unit: Unit) -> dict[str, Array]:
        if self.images is None:
            raise WorkError(
                f"'{unit.shown}' is an image, and nothing says how it becomes an input",
                place="samples",
                hint="write images: {input: …, resize: […], mean: […], std: […], layout: …}",
                exit_code=2,
            )
        name = self.images.input
        check_names([name], self.borders, unit.shown, what="image")
        (border,) = self.borders
        array = pixels(
            folder / unit.files[""], unit.shown, self.images, dimensions=len(border.shape)
        )
        return {name: array}
