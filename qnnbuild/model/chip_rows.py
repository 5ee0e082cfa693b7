"""Chip tables as written: YAML text to rows whose every value has its type and its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from qnnbuild.errors import Problem, RecipeError, Span
from qnnbuild.model.nearest import nearest

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where libyaml is there

T = TypeVar("T")

_NAME = re.compile(r"[A-Z][A-Z0-9]*([-_.][A-Z0-9]+)*", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One entry of a table: what was written, and where."""

    at: Span
    values: Mapping[str, object]
    places: Mapping[str, Span]

    def place(self, key: str) -> Span:
        return self.places.get(key, self.at)


Kind = Callable[["Reader", Node], object]


@dataclass
class Reader:
    """Reads one text and gathers what is wrong with it."""

    file: str
    lines: list[str]
    problems: list[Problem] = field(default_factory=list)
    named: dict[str, Span] = field(default_factory=dict)  # chips, folded → where

    @classmethod
    def of(cls, text: str, file: str) -> tuple[Reader, Node | None]:
        """The reader and the text's top node. Raises RecipeError where it is no YAML at all."""
        text = text.removeprefix("\ufeff")
        reader = cls(file=file, lines=text.splitlines())
        try:
            return reader, yaml.compose(text, Loader=Loader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            reason = getattr(error, "problem", None) or getattr(error, "reason", "cannot be read")
            at = reader.span(mark.line, mark.column) if mark else Span(file=file, line=1, column=1)
            raise RecipeError(f"this is not YAML: {reason}", at=at) from None

    def span(self, line: int, column: int, end: int = 0) -> Span:
        text = self.lines[line] if line < len(self.lines) else ""
        return Span(
            file=self.file, line=line + 1, column=column + 1, end=end or column + 2, text=text
        )

    def place(self, node: Node) -> Span:
        start, end = node.start_mark, node.end_mark
        return self.span(start.line, start.column, end.column + 1 if end.line == start.line else 0)

    def wrong(self, node: Node, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message=message, at=self.place(node), hint=hint))

    def entries(self, node: Node | None, what: str) -> Iterator[tuple[str, Node, Node]]:
        """Key, its node and its value's node; each key once."""
        if node is None:
            return
        if not isinstance(node, MappingNode):
            self.wrong(node, f"{what} is a mapping of keys to values")
            return
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.wrong(key, "a key is a word")
            elif key.value in seen:
                self.wrong(key, f"'{key.value}' is written twice")
            else:
                seen.add(key.value)
                yield key.value, key, value

    def items(self, node: Node, what: str) -> Iterator[Node]:
        if isinstance(node, SequenceNode):
            yield from node.value
        else:
            self.wrong(node, f"{what} is a list", hint="write [ … ], or one '- …' a line")

    def row(self, node: Node, kinds: Mapping[str, Kind], what: str) -> Row:
        values: dict[str, object] = {}
        places: dict[str, Span] = {}
        for key, key_node, value_node in self.entries(node, what):
            kind = kinds.get(key)
            if kind is None:
                meant = nearest(key, kinds)
                keys = f"its keys: {', '.join(kinds)}"
                hint = f"did you mean '{meant[0]}'?" if meant else keys
                self.wrong(key_node, f"{what} has no key '{key}'", hint)
                for other in meant:  # one mistake, one error: what was meant is not missing too
                    places.setdefault(other, self.place(key_node))
                continue
            places[key] = self.place(value_node)
            value = kind(self, value_node)
            if value is not None:
                values[key] = value
        return Row(at=self.place(node), values=values, places=places)

    def raise_problems(self) -> None:
        if self.problems:
            raise RecipeError.of(self.problems)


def text_of(reader: Reader, node: Node) -> str | None:
    if isinstance(node, ScalarNode) and node.value.strip():
        return str(node.value)
    reader.wrong(node, "this is a text")
    return None


def name_of(reader: Reader, node: Node) -> str | None:
    if isinstance(node, ScalarNode) and _NAME.fullmatch(node.value):
        return str(node.value)
    reader.wrong(node, "a chip's name is a letter, then letters, digits and - _ .")
    return None


def whole_of(reader: Reader, node: Node) -> int | None:
    if isinstance(node, ScalarNode) and _WHOLE.fullmatch(node.value):
        return int(node.value)
    reader.wrong(node, "this is a whole number")
    return None


def truth_of(reader: Reader, node: Node) -> bool | None:
    if isinstance(node, ScalarNode) and node.value.lower() in {"true", "false"}:
        return bool(node.value.lower() == "true")
    reader.wrong(node, "this is true or false")
    return None


def texts_of(reader: Reader, node: Node) -> tuple[str, ...]:
    return _present(text_of(reader, item) for item in reader.items(node, "this"))


def wholes_of(reader: Reader, node: Node) -> tuple[int, ...]:
    return _present(whole_of(reader, item) for item in reader.items(node, "this"))


def reads_back_of(reader: Reader, node: Node) -> Mapping[str, object]:
    return reader.row(node, READS_BACK, "reads_back_as").values


def _present(values: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(value for value in values if value is not None)


READS_BACK: Mapping[str, Kind] = {
    "soc_type": text_of,
    "arch": whole_of,
    "settings_arch": whole_of,
    "vtcm_mb": whole_of,
    "hvx_threads": whole_of,
    "fp16": truth_of,
}
CHIP: Mapping[str, Kind] = {
    "name": name_of,
    "soc_model": whole_of,
    "arch": whole_of,
    "vtcm_mb": whole_of,
    "hvx_threads": whole_of,
    "fp16": truth_of,
    "bf16": truth_of,
    "tags": texts_of,
    "marketing": texts_of,
    "kernel_ids": wholes_of,
    "reads_back_as": reads_back_of,
    "seen": text_of,
}
OWN_CHIP: Mapping[str, Kind] = {**CHIP, "overrides": truth_of}
REFUSED: Mapping[str, Kind] = {
    "name": name_of,
    "soc_model": whole_of,
    "why": text_of,
    "marketing": texts_of,
    "kernel_ids": wholes_of,
}
UNNAMED: Mapping[str, Kind] = {"soc_models": wholes_of, "why": text_of}
