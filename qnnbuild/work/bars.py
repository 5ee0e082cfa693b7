"""Numbers held against bars: which hold, in words that a person can act on."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOO_SMALL = 1e-6
"""An error below this is no error: sums that cancel to nothing have no digits to compare."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar on one output. `bar` is None for what may never be: a NaN, a changed index."""

    what: str  # as the recipe calls it: min_sqnr_db
    of: str  # the output, or the metric
    value: float
    bar: float | None
    holds: bool
    against: str = "the original"  # or: recorded

    def words(self) -> str:
        said = FORMS[self.what].format(self.value) if self.what in FORMS else f"{self.value:.6g}"
        if self.bar is None:
            return said
        way = "at most" if self.what.startswith(("max", "at_most")) else "at least"
        wanted = SHORT[self.what].format(self.bar) if self.what in SHORT else f"{self.bar:g}"
        return f"{said}, {way} {wanted} wanted"

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "of": self.of,
            "value": self.value,
            "bar": self.bar,
            "holds": self.holds,
            "against": self.against,
        }


FORMS = {
    "min_sqnr_db": "SQNR {:.1f} dB",
    "max_abs_error": "max abs error {:.3g}",
    "max_rel_error": "max error {:.3g} of the peak",
    "min_cosine": "cosine {:.5f}",
    "min_top1": "top-1 agreement {:.1%}",
    "min_top_k": "top-k agreement {:.1%}",
    "finite": "{:.0f} values are NaN or infinite",
    "equal": "{:.0f} values differ",
}
SHORT = {"min_sqnr_db": "{:g} dB", "min_top1": "{:.1%}", "min_top_k": "{:.1%}"}


def judge_outputs(
    outputs: Mapping[str, Any], bars: Mapping[str, Any], *, against: str = "the original"
) -> Iterator[Bar]:
    """Every bar of every output; `outputs` as numbers.json has them."""
    classes = _with_classes(outputs)
    for name, numbers in outputs.items():
        told = numbers["all"]
        for what, value, bar, holds in (
            _exact(told, bars)
            if numbers["kind"] == "exact"
            else _float(told, bars, is_classes=name in classes)
        ):
            yield Bar(what=what, of=name, value=value, bar=bar, holds=holds, against=against)


Judged = tuple[str, float, float | None, bool]


def _exact(told: Mapping[str, Any], bars: Mapping[str, Any]) -> Iterator[Judged]:
    """Whole numbers are equal, unless the recipe says how far they may be off or how often."""
    most, share = bars.get("max_abs_error"), bars.get("min_top1")
    if most is not None:
        yield "max_abs_error", told["max_abs"], most, told["max_abs"] <= most
    elif share is not None:
        equal = 1 - told["differing"] / told["elements"] if told["elements"] else 1.0
        yield "min_top1", equal, share, equal >= share
    else:
        yield "equal", told["differing"], None, told["differing"] == 0


def _float(
    told: Mapping[str, Any], bars: Mapping[str, Any], *, is_classes: bool
) -> Iterator[Judged]:
    if told.get("not_finite"):
        yield "finite", told["not_finite"], None, False
    tiny = told["max_abs"] <= TOO_SMALL and not told.get("not_finite")
    for what, number in (("min_sqnr_db", "sqnr_db"), ("min_cosine", "cosine")):
        if bars.get(what) is not None:
            yield what, told[number], bars[what], told[number] >= bars[what] or tiny
    for what, number in (("max_abs_error", "max_abs"), ("max_rel_error", "max_rel")):
        if bars.get(what) is not None:
            yield what, told[number], bars[what], told[number] <= bars[what]
    if not is_classes:
        return
    for what, k in (("min_top1", 1), ("min_top_k", bars.get("top_k"))):
        if bars.get(what) is not None and k is not None:
            value = told["top"][str(k)]
            yield what, value, bars[what], value >= bars[what]


def _with_classes(outputs: Mapping[str, Any]) -> set[str]:
    """Outputs that look like scores of classes; where none does, all that could be."""
    could = {name for name, numbers in outputs.items() if "top" in numbers["all"]}
    return {name for name in could if outputs[name]["all"]["likely_scores"]} or could


def judge_metric(
    name: str, values: Mapping[str, float], bars: Mapping[str, float | None]
) -> Iterator[Bar]:
    """A bar is on the value that has the metric's own name; on all where none has."""
    meant = {name: values[name]} if name in values else dict(values)
    for what, holds in (("at_least", operator.ge), ("at_most", operator.le)):
        bar = bars.get(what)
        if bar is not None:
            for key, value in meant.items():
                of = name if key == name else f"{name}: {key}"
                yield Bar(what=what, of=of, value=value, bar=bar, holds=bool(holds(value, bar)))
