"""Texts with holes: what a script fills in when it runs, a loop's variable or an unknown one. Pure.

A hole is the variable's name between two characters that no script has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

BEGIN, END = "\ue000", "\ue001"
_HOLE = re.compile(f"{BEGIN}([^{END}]*){END}")


def hole(name: str) -> str:
    return f"{BEGIN}{name}{END}"


def cleaned(text: str) -> str:
    """A text from outside, which may not bring holes of its own."""
    return text.replace(BEGIN, "").replace(END, "")


def holes_in(text: str) -> list[str]:
    return _HOLE.findall(text)


def is_known(text: str) -> bool:
    return BEGIN not in text


def shown(text: str) -> str:
    """As a script writes it: $name."""
    return _HOLE.sub(lambda found: "${" + found[1] + "}", text)


def as_placeholders(text: str, axes: Iterable[str]) -> str:
    """As a recipe writes it: {axis}. Braces of the text's own are doubled.

    Raises KeyError for a hole that is no axis.
    """
    known = set(axes)
    parts = _HOLE.split(text)
    for name in parts[1::2]:
        if name not in known:
            raise KeyError(name)
    plain = [part.replace("{", "{{").replace("}", "}}") for part in parts[::2]]
    named = [f"{{{name}}}" for name in parts[1::2]] + [""]
    return "".join(a + b for a, b in zip(plain, named, strict=True))


def without_holes(text: str) -> str:
    """What stands before the first hole: model-${t}-seconds → model; else what follows."""
    parts = [part.strip("-_.") for part in _HOLE.split(text)[::2]]
    return next((part for part in parts if part), "")


def only_hole(text: str) -> str | None:
    """The name of the hole that is all of the text."""
    found = _HOLE.fullmatch(text)
    return found[1] if found else None
