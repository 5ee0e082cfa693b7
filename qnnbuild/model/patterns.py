"""Selectors of chips: `SM8650`, `SM8*`, `@phones`, `arch>=75`, `vtcm>=8 & fp16`, `!SM8350`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from qnnbuild.errors import Problem, RecipeError, Span, did_you_mean
from qnnbuild.model.chips import ALL_CHIPS, Chips
from qnnbuild.model.recipe import Chip

FACTS: Mapping[str, Callable[[Chip], int | None]] = {
    "arch": lambda chip: chip.arch,
    "vtcm": lambda chip: chip.vtcm_mb,
    "hvx_threads": lambda chip: chip.hvx_threads,
    "soc_model": lambda chip: chip.soc_model,
}
COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
MEANT = {"=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "=!": "!=", "===": "=="}
FORMS = "a part number, SM8*, @tag, arch>=75, vtcm>=8, fp16; A & B for both, !A to leave out"


@dataclass(frozen=True, kw_only=True)
class Named:
    """A part number, or one with * ? [ ]."""

    glob: str

    def matches(self, chip: Chip) -> bool:
        return fnmatchcase(chip.name.upper(), self.glob.upper())


@dataclass(frozen=True, kw_only=True)
class Tagged:
    tag: str

    def matches(self, chip: Chip) -> bool:
        return self.tag.casefold() in {tag.casefold() for tag in chip.tags}


@dataclass(frozen=True, kw_only=True)
class Compared:
    fact: str
    comparison: str
    number: int

    def matches(self, chip: Chip) -> bool:
        fact = FACTS[self.fact](chip)
        return fact is not None and COMPARISONS[self.comparison](fact, self.number)


@dataclass(frozen=True, kw_only=True)
class HasFp16:
    def matches(self, chip: Chip) -> bool:
        return chip.fp16


Kind = Named | Tagged | Compared | HasFp16


@dataclass(frozen=True, kw_only=True)
class Term:
    kind: Kind
    negated: bool = False

    def matches(self, chip: Chip) -> bool:
        return self.kind.matches(chip) != self.negated


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """All terms must match. `negated`: the whole pattern takes chips away from a list."""

    text: str
    terms: tuple[Term, ...]
    negated: bool = False

    def matches(self, chip: Chip) -> bool:
        return all(term.matches(chip) for term in self.terms) != self.negated

    def names(self, chip: Chip) -> bool:
        """Whether the pattern speaks of this chip, to take it or to leave it out."""
        return self.matches(chip) != self.negated


@lru_cache(maxsize=4096)
def parse(text: str) -> Pattern:
    """A pattern from what a user wrote. Raises RecipeError without a place.

    `!` in front is for all of the pattern, `!` behind an `&` for that part.
    """
    whole = text.strip()
    negated = whole.startswith("!")
    terms = tuple(
        _term(part.strip(), text) for part in whole.removeprefix("!" * negated).split("&")
    )
    return Pattern(text=text, terms=terms, negated=negated)


def matches_chip(pattern: str, chip: Chip) -> bool:
    """Whether one pattern, as under `only:`, speaks for this chip."""
    return parse(pattern).matches(chip)


def matches(pattern: str, chip: Chip, variant: str) -> bool:
    """Whether a key under `only:` is for this chip or this variant."""
    return fnmatchcase(variant, pattern) or matches_chip(pattern, chip)


def check_only(
    pattern: str, at: Span | None, chips: Chips, variants: Iterable[str] = ()
) -> Problem | None:
    """What is wrong with a key under `only:`: it must match a chip of the table or a variant."""
    variants = list(variants)
    if any(fnmatchcase(variant, pattern) for variant in variants):
        return None
    problem = _problem(pattern, at, chips)
    if problem is None or not variants:
        return problem
    names = ", ".join(name for name in variants[:8] if name)
    facts = (*problem.facts, ("variants", names)) if names else problem.facts
    return Problem(message=problem.message, at=at, facts=facts, hint=problem.hint)


def select(patterns: Sequence[tuple[str, Span | None]], chips: Chips) -> tuple[Chip, ...]:
    """The chips that a list of patterns takes, each once, in the table's order.

    Patterns with `!` in front take away from what the others take, wherever they stand.
    Raises RecipeError with everything that is wrong in the list.
    """
    problems = [p for text, at in patterns if (p := _problem(text, at, chips))]
    if problems:
        raise RecipeError.of(problems)
    parsed = [parse(text) for text, _ in patterns]
    taken = [pattern for pattern in parsed if not pattern.negated]
    left_out = [pattern for pattern in parsed if pattern.negated]
    first = patterns[0][1] if patterns else None
    if not taken:
        hint = "put '*' in front to start from all chips" if left_out else FORMS
        raise RecipeError("nothing here takes a chip", at=first, hint=hint)
    found = tuple(
        chip
        for chip in chips
        if any(p.matches(chip) for p in taken) and all(p.matches(chip) for p in left_out)
    )
    if not found:
        raise RecipeError(
            "no chip is left", at=first, hint="'!…' takes away all that the rest takes"
        )
    return found


def _problem(text: str, at: Span | None, chips: Chips) -> Problem | None:
    try:
        pattern = parse(text)
    except RecipeError as error:
        wrong = error.problems[0]
        return Problem(message=wrong.message, at=at, facts=wrong.facts, hint=wrong.hint)
    for term in pattern.terms:
        if problem := _unknown(term.kind, at, chips):
            return problem
    if any(pattern.names(chip) for chip in chips):
        return None
    return _empty(pattern, at, chips)


def _unknown(kind: Kind, at: Span | None, chips: Chips) -> Problem | None:
    if isinstance(kind, Named) and not re.search(r"[*?[]", kind.glob) and kind.glob not in chips:
        wrong = chips.no_chip(kind.glob)
        hint = did_you_mean(kind.glob, ["fp16"]) if kind.glob.lower().startswith("fp") else None
        return Problem(message=wrong.message, at=at, facts=wrong.facts, hint=hint or wrong.hint)
    if isinstance(kind, Tagged):
        tags = sorted({tag for chip in chips for tag in chip.tags})
        if kind.tag.casefold() not in {tag.casefold() for tag in tags}:
            known = [f"@{tag}" for tag in tags]
            hint = did_you_mean(f"@{kind.tag}", known, otherwise=f"all tags: {' '.join(known)}")
            return Problem(message=f"no chip has the tag '@{kind.tag}'", at=at, hint=hint)
    return None


def _empty(pattern: Pattern, at: Span | None, chips: Chips) -> Problem:
    facts: list[tuple[str, str]] = []
    for term in pattern.terms:
        if isinstance(term.kind, Compared):
            numbers = {FACTS[term.kind.fact](chip) for chip in chips} - {None}
            known = ", ".join(str(number) for number in sorted(n for n in numbers if n is not None))
            facts.append((term.kind.fact, known))
    message = f"no chip matches '{pattern.text}'"
    return Problem(message=message, at=at, facts=tuple(dict.fromkeys(facts)), hint=ALL_CHIPS)


def _term(text: str, whole: str) -> Term:
    word = text.removeprefix("!").strip()
    negated = text.startswith("!")
    if not word:
        raise RecipeError(f"'{whole}' lacks a part", hint=FORMS)
    if re.search(r"[<>=!]", word):
        return Term(kind=_compared(word), negated=negated)
    if word.startswith("@"):
        return Term(kind=Tagged(tag=word[1:]), negated=negated)
    if word.casefold() == "fp16":
        return Term(kind=HasFp16(), negated=negated)
    if word in FACTS:
        raise RecipeError(
            f"'{word}' wants a comparison", hint=f"for example {word}>={_example(word)}"
        )
    return Term(kind=Named(glob=word), negated=negated)


def _compared(word: str) -> Compared:
    parts = re.fullmatch(r"([^<>=!]*)([<>=!]+)(.*)", word)
    assert parts
    fact, comparison, number = (part.strip() for part in parts.groups())
    if fact not in FACTS:
        known = f"facts to compare: {', '.join(FACTS)}"
        raise RecipeError(
            f"chips have no '{fact}' to compare", hint=did_you_mean(fact, FACTS, otherwise=known)
        )
    if comparison not in COMPARISONS:
        meant = MEANT.get(comparison)
        hint = f"did you mean '{fact}{meant}{number}'?" if meant else None
        raise RecipeError(
            f"'{comparison}' is no comparison", hint=hint or f"one of {' '.join(COMPARISONS)}"
        )
    digits = number.removeprefix("v") if fact == "arch" else number
    if not re.fullmatch(r"0|[1-9][0-9]{0,8}", digits):
        raise RecipeError(
            f"'{number}' is not a whole number" if number else f"'{word}' lacks its number",
            hint=f"for example {fact}{comparison}{_example(fact)}",
        )
    return Compared(fact=fact, comparison=comparison, number=int(digits))


def _example(fact: str) -> int:
    return {"arch": 75, "vtcm": 8, "hvx_threads": 6, "soc_model": 57}[fact]
