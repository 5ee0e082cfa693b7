"""What makes a second build worse: the bars of `--fail-on`, typed. Pure.

    failed, gone, cpu          something that was not so before
    size>5%  size>200kB        a bundle grows by more
    time>50%  time>30s         a compile takes so much longer
    sqnr<-1dB                  an output's SQNR falls by more

Each is held against how much changed since the first build. `nothing` stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qnnbuild.errors import RecipeError, did_you_mean

NOTHING = "nothing"
WORDS = {"cpu": "cpu", "gone": "gone", "failed": "failed"}
"""Bars without a number, and the fields of Limits that they are."""

TAKES = (
    "cpu (more work on the CPU), gone (a bundle, or a graph of one), failed (or not built), "
    "size>5%% or size>200kB (a bundle grows by more), time>50%% or time>30s (a compile), sqnr<-1dB "
    "(it falls by more), or nothing; several with commas, or given again; in quotes, for a shell "
    "takes > for itself"
)
"""For --help, where a percent sign is doubled."""

LEAST_S = 5.0
"""A compile's time is the machine's, too: a share of less than this says nothing."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bars of changes; None: it may change as it likes. Of two of one kind each counts."""

    cpu: bool = True  # more nodes, or more of the multiply-adds, on the CPU
    sqnr_db: float | None = None  # a fall of more than this
    size_percent: float | None = None  # a bundle's bytes grow by more than this
    size_bytes: float | None = None
    time_percent: float | None = None  # a compile takes longer by more than this
    time_s: float | None = None
    gone: bool = False  # a bundle, or a graph of one
    failed: bool = False  # what was built, or did not exist, fails now or is not built

    def bigger(self, before: int, after: int) -> bool:
        return _over(before, after, self.size_percent, self.size_bytes)

    def slower(self, before: float, after: float) -> bool:
        percent = self.time_percent if after - before > LEAST_S else None
        return _over(before, after, percent, self.time_s)

    def less_accurate(self, before: float, after: float) -> bool:
        return self.sqnr_db is not None and before - after > self.sqnr_db


def _over(before: float, after: float, percent: float | None, amount: float | None) -> bool:
    if amount is not None and after - before > amount:
        return True
    return percent is not None and after > before * (1 + percent / 100)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number that may get worse. `units`: as written → the field of Limits, and its factor."""

    sign: str  # the way in which it gets worse
    units: Mapping[str, tuple[str, float]]
    usual: str  # the unit that is meant by `size=5`
    example: str


MEASURES = {
    "size": Measure(
        sign=">",
        units={
            "%": ("size_percent", 1), "B": ("size_bytes", 1), "kB": ("size_bytes", 1e3),
            "MB": ("size_bytes", 1e6), "GB": ("size_bytes", 1e9),
        },
        usual="%",
        example="size>5%",
    ),
    "time": Measure(
        sign=">",
        units={"%": ("time_percent", 1), "s": ("time_s", 1), "min": ("time_s", 60)},
        usual="%",
        example="time>50%",
    ),
    "sqnr": Measure(sign="<", units={"dB": ("sqnr_db", 1)}, usual="dB", example="sqnr<-1dB"),
}  # fmt: skip

_BAR = re.compile(r"(?P<name>[^\s<>=]*)\s*(?:(?P<sign>[<>=]+)\s*(?P<amount>.*))?")
_AMOUNT = re.compile(r"(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?P<unit>%|[A-Za-z]*)")


def limits_of(several: Iterable[str]) -> Limits:
    """Each of `several` is one bar, or more with commas. Raises RecipeError."""
    words = [word.strip() for text in several for word in text.split(",")]
    if words == [NOTHING]:
        return Limits(cpu=False)
    found: dict[str, Any] = {"cpu": False}
    for word in words:
        name, value = _bar(word)
        found[name] = value if value is True else min(value, found.get(name, value))
    return Limits(**found)


def _bar(word: str) -> tuple[str, Any]:
    """The field of Limits, and what it is."""
    parts = _BAR.fullmatch(word)
    name, sign = (parts["name"], parts["sign"]) if parts else (word, None)
    if name in WORDS:
        if sign is not None:
            raise _wrong(f"'{word}': {name} takes no number", f"--fail-on {name}")
        return WORDS[name], True
    if name == NOTHING:
        raise _wrong(f"'{NOTHING}' stands alone", f"leave {NOTHING} out, or the others")
    if name not in MEASURES:
        takes = f"it takes {', '.join([*WORDS, *(m.example for m in MEASURES.values()), NOTHING])}"
        raise _wrong(
            f"nothing is called '{name}'" if name else "there is an empty word",
            did_you_mean(name, (*WORDS, *MEASURES, NOTHING)) or takes,
        )
    return _measured(word, MEASURES[name], sign, (parts["amount"] or "") if parts else "")


def _measured(word: str, measure: Measure, sign: str | None, amount: str) -> tuple[str, float]:
    example = f'--fail-on "{measure.example}"'
    if not sign or not amount:
        quotes = "in quotes, since a shell takes < and > for itself"
        raise _wrong(f"'{word}' says no bar", f"{example}, {quotes}")
    falls = measure.sign == "<"
    if sign not in ("=", measure.sign):
        way = "falls" if falls else "grows"
        raise _wrong(f"'{word}' is no bar: it gets worse when it {way}", example)
    found = _AMOUNT.fullmatch(amount)
    unit = (found["unit"] or measure.usual) if found else ""
    if found is None or unit not in measure.units:
        known = ", ".join(measure.units)
        raise _wrong(f"'{amount}' in '{word}' is no amount", f"a number with one of: {known}")
    number = float(found["number"])
    # as it was written first: sqnr=1 is a fall of more than 1 dB
    change = -number if falls and sign != "=" else number
    if change < 0:
        raise _wrong(f"'{word}' is no change for the worse against the first build", example)
    field, factor = measure.units[unit]
    return field, change * factor


def _wrong(message: str, hint: str | None) -> RecipeError:
    return RecipeError(f"--fail-on: {message}", hint=hint)
