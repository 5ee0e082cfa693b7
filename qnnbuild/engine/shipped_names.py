"""Names of files that a recipe puts into a bundle: users unpack it on disks of any kind."""

from __future__ import annotations

from collections.abc import Iterable

from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.paths import check_letters, unsafe_name
from qnnbuild.text.letters import HOLDS, all_told, folded, skeleton

NO_NAME = '<>:"|?*'
"""What Windows has other uses for."""


def check_shipped(names: Iterable[str], at: Span | None) -> None:
    """Raises RecipeError for a name that some disk cannot have, or that looks like another.

    `names`: as from the repo's root.
    """
    known: dict[str, str] = {}
    for name in names:
        check_letters(name, at)
        for part in name.split("/"):
            if why := _why_not(part):
                raise RecipeError(
                    f"'{name}' cannot be in a bundle: '{part}' {why}",
                    at=at,
                    hint="give the file another name, or write a pattern that leaves it out",
                )
        for alike in {folded(name), skeleton(name)}:
            first = known.setdefault(alike, name)
            if first != name:
                raise _alike(first, name, at)


def _why_not(part: str) -> str | None:
    if bad := "".join(char for char in part if char in NO_NAME):
        return f"holds {' '.join(dict.fromkeys(bad))}, which no file on Windows may"
    if part.endswith(" "):
        return "ends with a space, which Windows drops"
    return unsafe_name(part)


def _alike(first: str, second: str, at: Span | None) -> RecipeError:
    same = folded(first) == folded(second)
    odd = "".join(char for char in (*first, *second) if not char.isascii())
    return RecipeError(
        f"'{first}' and '{second}' are one file on many disks"
        if same
        else f"'{first}' and '{second}' look alike, and one would be taken for the other",
        at=at,
        facts=[(HOLDS, all_told(odd))] if odd else (),
        hint="give one of the files another name",
    )
