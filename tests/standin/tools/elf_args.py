"""The arguments of the compiled tools: `--name value` and `--name=value`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Given(NamedTuple):
    values: dict[str, str]
    flags: set[str]
    unused: list[str]


def parse(argv: Sequence[str], *, values: Collection[str], flags: Collection[str]) -> Given:
    """Unknown arguments, and values that are not there, are in `unused`."""
    given = Given({}, set(), [])
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, joined, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in flags:
            if not joined or value.lower() in ("true", "1"):
                given.flags.add(name)
        elif word.startswith("--") and name in values and (joined or rest):
            given.values[name] = value if joined else rest.pop(0)
        else:
            given.unused.append(word)
    return given
