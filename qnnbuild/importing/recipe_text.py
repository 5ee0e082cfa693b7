"""Values and remarks → the text of a recipe, in the form that people write by hand. Pure."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 100
STEP = 2
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./*+@-]*(?: [A-Za-z0-9_./+()-]+)*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")
_OTHER_THINGS = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|[.](?:inf|nan))", re.IGNORECASE)
"""Words that some readers of YAML take for something else than a text."""


@dataclass(frozen=True)
class Remarked:
    """A value, and the comment that stands beside or above it."""

    value: Value
    remark: str


Value = str | int | float | bool | Remarked | Sequence[Any] | Mapping[str, Any]


def recipe_text(top: Mapping[str, Value], *, schema: str, head: str = "") -> str:
    """A whole recipe. `schema` is the schema's path, seen from it; `head` a comment above all."""
    lines = [f"# yaml-language-server: $schema={schema}", *_comment(head, 0), *_entries(top, 0)]
    return "\n".join(lines) + "\n"


def scalar(value: str | float) -> str:
    """One value as YAML; a text is quoted where a reader could take it for something else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if _NUMBER.fullmatch(value):
        return value  # the schema knows whether it is one
    plain = _PLAIN.fullmatch(value) and not _OTHER_THINGS.fullmatch(value)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _entries(mapping: Mapping[str, Value], indent: int) -> Iterator[str]:
    for key, given in mapping.items():
        value, remark = (given.value, given.remark) if isinstance(given, Remarked) else (given, "")
        begin = f"{' ' * indent}{_key(key)}:"
        whole = f"{begin} {flow(value)}" if _may_flow(value) else ""
        if whole and remark and len(whole) + len(remark) + 4 <= WIDTH and "\n" not in remark:
            yield f"{whole}  # {remark}"
            continue
        yield from _comment(remark, indent)
        if whole and (len(whole) <= WIDTH or not isinstance(value, Mapping | list | tuple)):
            yield whole
        elif isinstance(value, Mapping):
            yield begin
            yield from _entries(value, indent + STEP)
        else:
            yield begin
            yield from _items(value, indent + STEP)


def _items(value: Value, indent: int) -> Iterator[str]:
    assert isinstance(value, Sequence)
    yield from (f"{' ' * indent}- {flow(item)}" for item in value)


def _key(key: str) -> str:
    return key if _NUMBER.fullmatch(key) else scalar(key)


def _may_flow(value: Value) -> bool:
    """Whether it can stand in one line: what has remarks inside cannot."""
    if isinstance(value, Remarked):
        return False
    if isinstance(value, Mapping):
        return (bool(value) and all(_may_flow(one) for one in value.values())) or not value
    return isinstance(value, str) or not isinstance(value, Sequence) or all(map(_may_flow, value))


def flow(value: Value) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)}: {flow(one)}" for k, one in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(flow, value)) + "]"
    assert not isinstance(value, Remarked)
    return scalar(value)


def _comment(remark: str, indent: int) -> Iterator[str]:
    for paragraph in remark.splitlines():
        for line in textwrap.wrap(paragraph, WIDTH - indent - 2, break_long_words=False):
            yield f"{' ' * indent}# {line}"
