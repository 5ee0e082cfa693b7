"""Chips as people name them on a command line: part numbers, what shops call them, selectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from qnnbuild.errors import NothingMatches, did_you_mean
from qnnbuild.model.chips import ALL_CHIPS, Chips
from qnnbuild.model.patterns import select
from qnnbuild.model.recipe import Chip

ALIKE = 0.85
"""Behind the same first word: what is less alike is the name of a phone, or none."""

USUAL = ("SM8550", "SM8650", "SM8750", "SM8850")
"""Phones of four generations: what is built for where nobody says anything."""


def chips_meant(words: Iterable[str], chips: Chips) -> tuple[tuple[Chip, ...], list[str]]:
    """The chips, and what a recipe writes for them. An unknown name raises with the nearest."""
    asked = [part.strip() for word in words for part in word.split(",") if part.strip()]
    patterns: list[str] = []
    for word in asked or USUAL:
        patterns += _patterns(word, chips)
    patterns = list(dict.fromkeys(patterns))
    return select([(pattern, None) for pattern in patterns], chips), patterns


def _patterns(word: str, chips: Chips) -> Sequence[str]:
    if any(c in word for c in "@*?<>=&!") or word == "fp16":
        select([(word, None)], chips)  # it says what is wrong with it
        return [word]
    return [chip.name for chip in looked_up(word, chips)]


def looked_up(word: str, chips: Chips) -> tuple[Chip, ...]:
    """The chips that a word means. Nobody knows part numbers by heart: an error says who does."""
    try:
        return chips.look_up(word)
    except NothingMatches as error:
        if re.fullmatch(r"[A-Za-z]{2,4}[0-9]{3,}\w*", word):  # a part number: no shop calls it so
            raise
        sold = [name for chip in chips for name in chip.marketing]
        near = did_you_mean(f"snapdragon {word}", sold, alike=ALIKE) or did_you_mean(word, sold)
        if (error.problems[0].hint or ALL_CHIPS) != ALL_CHIPS:
            raise
        hint = f"a phone says it itself: adb shell getprop ro.soc.model; {ALL_CHIPS}"
        raise NothingMatches(
            error.problems[0].message,
            facts=error.problems[0].facts,
            hint=f"{near} Or {hint}" if near else hint,
        ) from None
