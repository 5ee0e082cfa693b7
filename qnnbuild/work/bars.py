"""Numbers held against bars: which hold, in words that a person can act on."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qnnbuild.errors import did_you_mean
from qnnbuild.work.run import WorkError

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
        return said if self.bar is None else f"{said}, {limit(self.what, self.bar)} wanted"

    @property
    def short_db(self) -> float:
        """How far below its bar, in dB, so that bars of different kinds can be compared."""
        if self.holds:
            return -math.inf
        if self.bar is None or not math.isfinite(self.value):
            return math.inf
        if self.what == "min_sqnr_db":
            return self.bar - self.value
        if self.what in SHARES:
            return _ratio_db(1 - self.value, 1 - self.bar)
        more, less = (self.value, self.bar) if is_upper(self.what) else (self.bar, self.value)
        return 2 * _ratio_db(more, less)

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "of": self.of,
            "value": self.value,
            "bar": self.bar,
            "holds": self.holds,
            "against": self.against,
        }


def is_upper(what: str) -> bool:
    return what.startswith(("max", "at_most"))


def limit(what: str, bar: float) -> str:
    """The bar alone, in words: at least 30 dB."""
    wanted = SHORT[what].format(bar) if what in SHORT else f"{bar:g}"
    return f"{'at most' if is_upper(what) else 'at least'} {wanted}"


def _ratio_db(more: float, less: float) -> float:
    return 10 * math.log10(more / less) if more > 0 and less > 0 else math.inf


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
SHARES = ("min_cosine", "min_top1", "min_top_k")
"""What is 1 at best."""


def judge_outputs(
    outputs: Mapping[str, Any], bars: Mapping[str, Any], *, against: str = "the original"
) -> Iterator[Bar]:
    """Every bar of every output; `outputs` as numbers.json has them.

    `bars` are those of all outputs; below "outputs", by name, those that stand in their place for
    one, or {"excused": a reason}.
    """
    classes = _with_classes(outputs)
    own: Mapping[str, Mapping[str, Any]] = bars.get("outputs", {})
    for name, numbers in outputs.items():
        wanted = own.get(name, bars)
        if "excused" in wanted:
            continue
        told = numbers["all"]
        if name in own:
            _check_classes(name, numbers, wanted)
        for what, value, bar, holds in (
            _exact(told, wanted)
            if numbers["kind"] == "exact"
            else _float(told, wanted, is_classes=name in classes or name in own)
        ):
            yield Bar(what=what, of=name, value=value, bar=bar, holds=holds, against=against)


def excused(bars: Mapping[str, Any]) -> dict[str, str]:
    """Output → why it is not judged."""
    return {
        name: own["excused"] for name, own in bars.get("outputs", {}).items() if "excused" in own
    }


def place_of(bar: Bar, bars: Mapping[str, Any]) -> str:
    """Where the user wrote it: at the output, unless the graph says the same."""
    own = bars.get("outputs", {}).get(bar.of, {})
    if bar.what in own and own[bar.what] != bars.get(bar.what):
        return f"verify.outputs.{bar.of}.{bar.what}"
    return f"verify.{bar.what}"


def check_names(bars: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """A bar whose output is not there would hold by not being looked at."""
    for name in bars.get("outputs", {}):
        if name not in known:
            raise WorkError(
                f"the graph has no output '{name}'",
                place=f"verify.outputs.{name}",
                facts=[("its outputs", ", ".join(known))],
                hint=did_you_mean(name, known),
                exit_code=2,
            )


def _check_classes(name: str, numbers: Mapping[str, Any], bars: Mapping[str, Any]) -> None:
    """Who asks for one output's classes is told when it has none."""
    asked = next((what for what in ("min_top1", "min_top_k") if what in bars), None)
    if asked is None or numbers["kind"] == "exact" or "top" in numbers["all"]:
        return
    raise WorkError(
        f"output '{name}' has no classes to agree on",
        place=f"verify.outputs.{name}.{'top_k' if asked == 'min_top_k' else asked}",
        facts=[("classes are", "3 or more numbers along the last of at most 3 dimensions")],
        hint="max_abs_error or min_sqnr_db judge any output",
        exit_code=2,
    )


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
    if not is_classes or "top" not in told:
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
