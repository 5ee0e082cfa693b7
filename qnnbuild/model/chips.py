"""The table of chips and every way to look one up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any

from yaml.nodes import Node

from qnnbuild.errors import NothingMatches, Problem, QnnbuildError, RecipeError, Span
from qnnbuild.model.chip_rows import CHIP, REFUSED, UNNAMED, Reader, Row, text_of
from qnnbuild.model.nearest import nearest
from qnnbuild.model.recipe import Chip, Scalar

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NUMBERED = re.compile(r"\bC\d+: ")
"""What sources disagree about is numbered in the table."""

ALL_CHIPS = "all chips: qnnbuild chips"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A chip that is known by name and cannot be built for."""

    name: str
    soc_model: int
    why: str
    marketing: tuple[str, ...] = ()
    kernel_ids: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chips:
    """The chips that can be built for, in the table's order, and those that are refused."""

    rows: Mapping[str, Chip]
    refused: tuple[Refused, ...] = ()
    unnamed: Mapping[int, str] = field(default_factory=dict)
    """soc_model ids that the library has no name for, and why they are refused."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """What the short words in `seen` of a row mean."""

    def __iter__(self) -> Iterator[Chip]:
        return iter(self.rows.values())

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.casefold() in self._by_name

    def __getitem__(self, name: str) -> Chip:
        """The chip with this part number, in any case of letters."""
        return self._by_name[name.casefold()]

    def get(self, name: str) -> Chip | None:
        return self._by_name.get(name.casefold())

    def named(self, name: str, at: Span | None = None) -> Chip:
        """The chip with this part number.

        Raises RecipeError when somebody wrote the name `at` a place, else NothingMatches.
        """
        if chip := self.get(name):
            return chip
        raise _error(self.no_chip(name), at)

    def by_marketing(self, name: str) -> tuple[Chip, ...]:
        """Chips sold under a name: "Snapdragon 8 Elite", or just "8 elite"."""
        wanted = _sold_as(name)
        return tuple(c for c in self if any(_sold_as(sold) == wanted for sold in c.marketing))

    def by_android(self, soc_model: str) -> Chip | None:
        """The chip for Android's ro.soc.model: "SM8750", "SM8750P", "SM8750-3-AC"."""
        for form in _forms(soc_model):
            if form in self:
                return self[form]
            if form in self._refused_by_name:
                return None
        return None

    def by_kernel_id(self, kernel_id: int) -> tuple[Chip, ...]:
        """Chips with this id in /sys/devices/soc0/soc_id."""
        return tuple(chip for chip in self if kernel_id in chip.kernel_ids)

    def by_soc_model(self, soc_model: int) -> tuple[Chip, ...]:
        """Chips that QNN compiles for under this id; the first has the id as its own."""
        found = [chip for chip in self if chip.soc_model == soc_model]
        return tuple(sorted(found, key=lambda chip: "soc_type" in chip.reads_back_as))

    def by_soc_type(self, soc_type: str) -> tuple[Chip, ...]:
        """Chips whose binaries say this soc_type of themselves."""
        return tuple(chip for chip in self if says_of_itself(chip)["soc_type"] == soc_type)

    def refusal(self, soc_model: int) -> str | None:
        """Why QNN's HTP backend must not be asked for this id; None when nobody knows a reason."""
        by_id = {chip.soc_model: chip.why for chip in self.refused}
        return by_id.get(soc_model, self.unnamed.get(soc_model))

    def look_up(self, word: str, at: Span | None = None) -> tuple[Chip, ...]:
        """Chips that `word` may mean: a part number, what Android or a shop calls it, or an id."""
        if word in self:
            return (self[word],)
        if found := self.by_marketing(word):
            return found
        if chip := self.by_android(word):
            return (chip,)
        if _NUMBER.fullmatch(word) and (found := self._by_id(int(word))):
            return found
        if found := self.by_soc_type(word.upper()):
            return found
        raise _error(self.no_chip(word), at)

    def no_chip(self, word: str) -> Problem:
        """What to say to somebody who wrote `word` where a part number is wanted."""
        if refused := self._refused(word):
            name = refused.name if refused.name.casefold() == word.casefold() else None
            return Problem(
                message=f"'{word}' cannot be built for: {refused.why}",
                facts=() if name else (("part number", refused.name),),
                hint=ALL_CHIPS,
            )
        if found := self.by_marketing(word):
            message = f"'{word}' is a marketing name, not a part number"
            return Problem(message=message, hint=f"write {_or(found)}")
        return Problem(message=f"no chip is named '{word}'", hint=self._way_out(word))

    def _way_out(self, word: str) -> str:
        if chip := self.by_android(word):
            return f"'{word}' is a form of '{chip.name}': write that"
        if found := self.by_soc_type(word.upper()):
            return f"'{word}' is what the SDK calls it: write {_or(found)}"
        if _NUMBER.fullmatch(word):
            return self._way_out_of_number(int(word))
        if near := nearest(word, self.rows):
            return f"did you mean {_or(near)}? {ALL_CHIPS}"
        return ALL_CHIPS

    def _way_out_of_number(self, number: int) -> str:
        if found := self._with_digits(str(number)):
            return f"did you mean {_or(found)}? {ALL_CHIPS}"
        if found := self.by_soc_model(number):
            return f"{number} is the soc_model of {_or(found)}: write the part number"
        if found := self.by_kernel_id(number):
            return f"{number} is the kernel's id of {_or(found)}: write the part number"
        if why := self.refusal(number):
            return f"{number} is a soc_model that cannot be built for: {why}"
        return ALL_CHIPS

    def _with_digits(self, digits: str) -> tuple[Chip, ...]:
        """Chips with exactly this number in their names; only the phones' where there are any."""
        found = tuple(chip for chip in self if digits in re.findall(r"\d+", chip.name))
        return tuple(chip for chip in found if "phones" in chip.tags) or found

    def where_from(self, chip: Chip) -> tuple[str, str]:
        """Where the facts of a chip are from, and what there is to say of them."""

        def in_full(text: str) -> str:
            return _WORD.sub(lambda word: self.sources.get(word[0], word[0]), text)

        first, *rest = re.split(r"[;.] ", chip.seen, maxsplit=1)
        words = first.split()
        notes = in_full(_NUMBERED.sub("", "".join(rest)))
        if any(word.partition("#")[0] not in self.sources for word in words):
            return "", f"{in_full(first)}; {notes}" if notes else in_full(first)
        return ", ".join(map(in_full, words)), notes

    def _by_id(self, number: int) -> tuple[Chip, ...]:
        return self.by_soc_model(number) or self.by_kernel_id(number)

    def _refused(self, word: str) -> Refused | None:
        for form in _forms(word):
            if form in self:
                return None
            if form in self._refused_by_name:
                return self._refused_by_name[form]
        wanted = _sold_as(word)
        for chip in self.refused:
            if any(_sold_as(sold) == wanted for sold in chip.marketing):
                return chip
        return None

    @cached_property
    def _by_name(self) -> Mapping[str, Chip]:
        return {name.casefold(): chip for name, chip in self.rows.items()}

    @cached_property
    def _refused_by_name(self) -> Mapping[str, Refused]:
        return {chip.name.upper(): chip for chip in self.refused}


@cache
def packaged_chips() -> Chips:
    """The table that comes with the package, read once in a process."""
    return load_chips(packaged_text())


def packaged_text() -> str:
    return resources.files(__package__).joinpath("chips.yaml").read_text(encoding="utf-8")


def load_chips(text: str, file: str = "chips.yaml") -> Chips:
    """A whole table of chips from YAML. Raises RecipeError with all that is wrong in it."""
    reader, top = Reader.of(text, file)
    sections = {key: value for key, _, value in reader.entries(top, "a table of chips")}
    rows: dict[str, Chip] = {}
    for node in _items(reader, sections, "chips"):
        row = reader.row(node, CHIP, "a chip")
        if complete(reader, row) and first_of_its_name(reader, row, rows):
            rows[str(row.values["name"])] = chip_of(row.values)
    reasons = reader.entries(sections.get("reasons"), "reasons")
    why = {key: text_of(reader, value) for key, _, value in reasons}
    refused = [
        _refused_of(reader.row(node, REFUSED, "a refused chip"), why)
        for node in _items(reader, sections, "refused")
    ]
    unnamed: Mapping[str, Any] = {}
    if "unnamed" in sections:
        unnamed = reader.row(sections["unnamed"], UNNAMED, "unnamed").values
    named = reader.entries(sections.get("sources"), "sources")
    sources = {key: text_of(reader, value) or key for key, _, value in named}
    reader.raise_problems()
    ids = dict.fromkeys(unnamed.get("soc_models", ()), why.get(unnamed.get("why", "")) or "")
    return Chips(rows=rows, refused=tuple(refused), unnamed=ids, sources=sources)


def complete(reader: Reader, row: Row) -> bool:
    """Whether a row has all that a chip needs; what is missing is told."""
    needed = ("name", "soc_model", "arch", "vtcm_mb", "fp16")
    missing = [key for key in needed if key not in row.values and key not in row.places]
    if missing:
        name = row.values.get("name", "this chip")
        problem = Problem(message=f"{name} lacks {', '.join(missing)}", at=row.at)
        reader.problems.append(problem)
    return all(key in row.values for key in needed)


def first_of_its_name(reader: Reader, row: Row, names: Iterable[str]) -> bool:
    name = str(row.values["name"])
    known = {other.casefold() for other in names}
    if name.casefold() in known:
        message = f"'{name}' is written twice"
        first = reader.named.get(name.casefold())
        facts = (("first", str(first)),) if first else ()
        reader.problems.append(Problem(message=message, at=row.place("name"), facts=facts))
    reader.named.setdefault(name.casefold(), row.place("name"))
    return name.casefold() not in known


def chip_of(values: Mapping[str, Any]) -> Chip:
    return Chip(**{"marketing": (), "hvx_threads": None, **values})


def says_of_itself(chip: Chip) -> Mapping[str, Scalar]:
    """What a binary made for this chip must tell, by the names that ContextFacts uses.

    An hvx_threads that the row does not know is left out.
    """
    told: dict[str, Scalar | None] = {
        "soc_type": chip.name,
        "soc_model": chip.soc_model,
        "arch": chip.arch,
        "vtcm_mb": chip.vtcm_mb,
        "hvx_threads": chip.hvx_threads,
    }
    return {
        key: chip.reads_back_as.get(key, fact) for key, fact in told.items() if fact is not None
    }


def _error(problem: Problem, at: Span | None) -> QnnbuildError:
    kind = RecipeError if at else NothingMatches
    return kind(problem.message, at=at, facts=problem.facts, hint=problem.hint)


def _forms(soc_model: str) -> Iterator[str]:
    """From Android's text to the part number: without revisions behind - or _, without a P."""
    form = soc_model.strip().upper()
    while form:
        yield form
        if form.endswith("P"):
            yield form[:-1]
        shorter = re.sub(r"(?:[-_ ][A-Z0-9.]*|V\d+(?:\.\d+)?)$", "", form)
        if shorter == form:
            return
        form = shorter


def _sold_as(name: str) -> str:
    """A shop's name without what shops add, and however it is spaced: 8gen3."""
    words = re.sub(r"[®™©]|\(r\)|\(tm\)", " ", name.casefold())
    return re.sub(r"qualcomm|snapdragon|dragonwing|mobile|platform|compute|[ _-]", "", words)


def _or(chips: Sequence[Chip] | Sequence[str]) -> str:
    return " or ".join(f"'{chip if isinstance(chip, str) else chip.name}'" for chip in chips[:3])


def _items(reader: Reader, sections: Mapping[str, Node], key: str) -> Iterator[Node]:
    if key in sections:
        yield from reader.items(sections[key], key)


def _refused_of(row: Row, reasons: Mapping[str, str | None]) -> Refused:
    values: dict[str, Any] = {"name": "", "soc_model": 0, "why": "", **row.values}
    return Refused(**{**values, "why": reasons.get(values["why"]) or values["why"]})
