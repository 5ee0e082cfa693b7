"""Two builds chip by chip: size, compile time and accuracy of what both have. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qnnbuild.report import diff
from qnnbuild.report.diff import Change, Side, bytes_of, cell_name, seconds_of, sqnr_of
from qnnbuild.report.diff_lines import chips_of, heading_of
from qnnbuild.report.summary import cells

ANY = "libraries"
"""Stands where bundles are for any chip, as in `diff.name_of`."""


@dataclass(frozen=True, kw_only=True)
class ChipLine:
    """One chip. Pairs are before and after, of what both builds have; None where there is none."""

    chip: str
    counts: Mapping[str, int]  # heading → changes
    worse: int
    size: tuple[int, int] | None  # bytes of its bundles
    seconds: tuple[float, float] | None  # of its compiles
    sqnr: tuple[float, float] | None  # dB, of the output that fell the most, or changed the most

    def as_json(self) -> dict[str, Any]:
        return {
            "chip": self.chip,
            "worse": self.worse,
            "kinds": dict(self.counts),
            "bytes": self.size,
            "compile_seconds": self.seconds,
            "sqnr_db": self.sqnr,
        }


@dataclass
class _Found:
    size: list[tuple[int, int]] = field(default_factory=list)
    seconds: list[tuple[float, float]] = field(default_factory=list)
    sqnr: list[tuple[float, float]] = field(default_factory=list)


def chip_lines(before: Side, after: Side, changes: Sequence[Change]) -> list[ChipLine]:
    """The chips of which there is something to tell: what lacks something first, then the worst."""
    by_chip: dict[str, list[Change]] = {}
    for change in changes:
        for chip in chips_of(change):
            by_chip.setdefault(chip, []).append(change)
    found = _numbers(before, after)
    lines = [_line(chip, ones, found.get(chip, _Found())) for chip, ones in by_chip.items()]
    return sorted(lines, key=lambda line: (not _lacks(line), -line.worse, line.chip))


def _lacks(line: ChipLine) -> bool:
    """Whether something is not there for it: that weighs more than a number."""
    return any(line.counts.get(heading) for heading in ("Failed", "Not built", "Gone"))


def chips_in(*sides: Side) -> set[str]:
    """All chips that there are bundles or cells for."""
    return {chip for side in sides for chip in _chips(side)}


def _chips(side: Side) -> Iterator[str]:
    for manifest in side.manifests.values():
        yield from _chips_of(manifest)
    for _, _, cell in cells(side.told) if side.told is not None else ():
        yield cell["chip"]


def _chips_of(manifest: diff.Manifest) -> list[str]:
    return [chip["name"] for chip in manifest["chips"]] or [ANY]


def _line(chip: str, changes: Sequence[Change], found: _Found) -> ChipLine:
    # a fall is told before a rise: somebody has to look at it
    sqnr = sorted(found.sqnr, key=lambda pair: (pair[1] - pair[0] >= 0, -abs(pair[1] - pair[0])))
    return ChipLine(
        chip=chip,
        counts=Counter(map(heading_of, changes)),
        worse=sum(change.worse for change in changes),
        size=_whole(found.size),
        seconds=_sum(found.seconds),
        sqnr=sqnr[0] if sqnr else None,
    )


def _whole(pairs: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    return (sum(a for a, _ in pairs), sum(b for _, b in pairs)) if pairs else None


def _sum(pairs: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    return (sum(a for a, _ in pairs), sum(b for _, b in pairs)) if pairs else None


def _numbers(before: Side, after: Side) -> Mapping[str, _Found]:
    found: dict[str, _Found] = {}
    for name in before.manifests.keys() & after.manifests.keys():
        old, new = before.manifests[name], after.manifests[name]
        for chip in _chips_of(new):
            one = found.setdefault(chip, _Found())
            one.size.append((bytes_of(old), bytes_of(new)))
            one.sqnr += _accuracies(old, new)
    for chip, pair in _times(before, after):
        found.setdefault(chip, _Found()).seconds.append(pair)
    return found


def _accuracies(old: diff.Manifest, new: diff.Manifest) -> Iterator[tuple[float, float]]:
    """Of outputs whose SQNR changed."""
    for graph in old["graphs"].keys() & new["graphs"].keys():
        first, second = sqnr_of(old["graphs"][graph]), sqnr_of(new["graphs"][graph])
        for output in first.keys() & second.keys():
            if abs(first[output] - second[output]) >= diff.SAME_DB:
                yield first[output], second[output]


def _times(before: Side, after: Side) -> Iterable[tuple[str, tuple[float, float]]]:
    if before.told is None or after.told is None:
        return
    old = {cell_name(*one): seconds_of(one[2]) for one in cells(before.told)}
    for model, row, cell in cells(after.told):
        was, now = old.get(cell_name(model, row, cell), {}), seconds_of(cell)
        for graph in was.keys() & now.keys():
            yield cell["chip"], (was[graph], now[graph])
