"""A set of samples as it is written: each one checked, and all of them together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.digest import Digest, digest_file, digest_json
from qnnbuild.work.arrays import sample_name
from qnnbuild.work.given_samples import Given
from qnnbuild.work.npz import Array, write_npz
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.sample_borders import Border, called, fitted

DIGITS = 6
"""Of numbers in the report: sums differ in the last ones from CPU to CPU."""

PIECE = 1 << 20
SHOWN = 8


@dataclass(kw_only=True)
class Spread:
    """How the values of one input lie, over all samples."""

    count: int = 0
    low: float = math.inf
    high: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0  # of the distances from the mean
    zeros: list[str] = field(default_factory=list)  # samples that are all zero

    def add(self, array: Array) -> None:
        """Piece by piece, since doubles take more room than the array itself."""
        flat = array.ravel()
        for begin in range(0, flat.size, PIECE):
            piece = flat[begin : begin + PIECE].astype(np.float64)
            self.low = min(self.low, float(piece.min()))
            self.high = max(self.high, float(piece.max()))
            mean = float(piece.mean())
            both = self.count + piece.size
            far = mean - self.mean
            self.squares += float(((piece - mean) ** 2).sum())
            self.squares += far * far * self.count * piece.size / both
            self.mean += far * piece.size / both
            self.count = both

    def as_json(self) -> dict[str, float]:
        std = math.sqrt(self.squares / self.count) if self.count else 0.0
        numbers = {"min": self.low, "max": self.high, "mean": self.mean, "std": std}
        return {name: float(f"{number:.{DIGITS}g}") for name, number in numbers.items()}


@dataclass(kw_only=True)
class SampleSet:
    """Writes samples to `folder` as 000000.npz, 000001.npz, …"""

    borders: tuple[Border, ...]
    folder: Path
    may_be_constant: Sequence[str] = ()
    shown: list[str] = field(default_factory=list)
    digests: list[Digest] = field(default_factory=list)
    spreads: dict[str, Spread] = field(default_factory=dict)
    casts: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spreads = {border.name: Spread() for border in self.borders}
        floats = [border for border in self.borders if border.dtype.kind == "f"]
        told = [b for b in floats or self.borders if b.name not in self.may_be_constant]
        self.judged = {border.name: border for border in told}

    def add(self, given: Given) -> None:
        sample: dict[str, Array] = {}
        for border in self.borders:
            where = called(given.shown, border, self.borders)
            array, cast = fitted(given.arrays[border.name], border, where)
            sample[border.name] = array
            if cast is not None:
                counts = self.casts.setdefault(border.name, {})
                counts[cast] = counts.get(cast, 0) + 1
        self._check(given.shown, sample)
        path = self.folder / sample_name(len(self.shown))
        write_npz(path, sample)
        self.shown.append(given.shown)
        self.digests.append(digest_file(path))

    def _check(self, shown: str, sample: dict[str, Array]) -> None:
        for name, array in sample.items():
            self.spreads[name].add(array)
            if not array.any():
                self.spreads[name].zeros.append(shown)
        if self.judged and not any(sample[name].any() for name in self.judged):
            raise _useless(f"'{shown}' is all zero", self.judged)
        several = [sample[name] for name in self.judged if sample[name].size > 1]
        if several and all(array.min() == array.max() for array in several):
            raise _useless(f"'{shown}' is the same number everywhere", self.judged)

    def close(self, run: Run, *, at_least: int) -> dict[str, Any]:
        """What the whole set is like, for the report. Raises WorkError when it is not good."""
        if len(self.shown) < at_least:
            raise WorkError(
                f"{_samples(len(self.shown))}, at least {at_least} wanted",
                place="samples",
                exit_code=2,
            )
        for name, border in self.judged.items():
            self._check_spread(run, name, border)
        self._tell_copies(run)
        return {
            "count": len(self.shown),
            "digest": digest_json(self.digests),
            "samples": self.shown,
            "inputs": {
                b.name: {"dtype": str(b.dtype), "shape": list(b.shape)}
                | self.spreads[b.name].as_json()
                for b in self.borders
            },
            "casts": self.casts,
        }

    def _check_spread(self, run: Run, name: str, border: Border) -> None:
        spread = self.spreads[name]
        if spread.low == spread.high == 0:
            raise _useless(f"'{name}' is zero in all samples", [name])
        if spread.low == spread.high and spread.count > len(self.shown):
            raise _useless(f"'{name}' is {spread.low:g} everywhere, in all samples", [name])
        if spread.low == spread.high and border.dtype.kind == "f" and len(self.shown) > 1:
            run.warn(f"'{name}' is {spread.low:g} in all samples", place="samples")
        if spread.zeros:
            run.warn(
                f"'{name}' is all zero in {len(spread.zeros)} of {_samples(len(self.shown))}: "
                f"{', '.join(spread.zeros[:SHOWN])}",
                place="samples",
            )

    def _tell_copies(self, run: Run) -> None:
        first: dict[Digest, str] = {}
        copies = []
        for shown, digest in zip(self.shown, self.digests, strict=True):
            if digest in first:
                copies.append(f"{shown} = {first[digest]}")
            first.setdefault(digest, shown)
        if copies:
            run.warn(
                f"{len(copies)} of {_samples(len(self.shown))} are copies of others: "
                f"{', '.join(copies[:SHOWN])}",
                place="samples",
            )


def _useless(message: str, names: Iterable[str]) -> WorkError:
    first = next(iter(names))
    return WorkError(
        message,
        place="samples",
        hint=f"give real inputs; what never changes can be frozen, constants: {{{first}: …}}, "
        f"or is allowed by may_be_constant: [{first}]",
        exit_code=2,
    )


def _samples(count: int) -> str:
    return f"{count} sample{'' if count == 1 else 's'}"


def write_report(folder: Path, report: dict[str, Any]) -> None:
    text = json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
