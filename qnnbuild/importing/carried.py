"""What became of each part of a script or a file of settings: where it stands now, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qnnbuild.digest import Json

CARRIED, LEFT = "carried", "left"


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file, which count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One flag or key as written, and what became of it."""

    at: Place
    what: str
    became: str  # carried: what the recipe says; left: why it is not in it
    todo: str = ""  # left: what to do
    state: str = CARRIED

    def as_json(self) -> Mapping[str, Json]:
        return {
            "file": self.at.file,
            "line": self.at.line,
            "state": self.state,
            "what": self.what,
            "became": self.became,
            "todo": self.todo,
        }


def carried(at: Place, what: str, became: str) -> Row:
    return Row(at=at, what=what, became=became)


def left(at: Place, what: str, why: str, todo: str = "") -> Row:
    return Row(at=at, what=what, became=why, todo=todo, state=LEFT)
