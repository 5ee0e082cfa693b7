"""Errors as data: a place, facts and a way out. `text.render` turns them into words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Span:
    """A place in a text that a user wrote. Lines and columns count from 1; `end` is exclusive."""

    file: str
    line: int
    column: int
    end: int = 0
    text: str = ""  # the whole line, as written

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake, told once."""

    message: str
    at: Span | None = None
    facts: tuple[tuple[str, str], ...] = ()
    hint: str | None = None
    severity: str = field(default="error")  # or "warning"


class QnnbuildError(Exception):
    """What a user can understand and mend; its class decides the exit code."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        at: Span | None = None,
        facts: Iterable[tuple[str, str]] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = (
            Problem(message=message, at=at, facts=tuple(facts), hint=hint),
        )

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> QnnbuildError:
        """All mistakes of one reading in one error."""
        error = cls(problems[0].message)
        error.problems = tuple(problems)
        return error


class RecipeError(QnnbuildError):
    """What the user wrote cannot be meant."""

    exit_code = 2


class NothingMatches(QnnbuildError):
    """A pattern or name selects nothing."""

    exit_code = 3


class ToolError(QnnbuildError):
    """A tool, a download or a user's command failed."""

    exit_code = 4


class NotGood(QnnbuildError):
    """It was made, and a check says that it may not ship."""

    exit_code = 5


class StoreError(QnnbuildError):
    """The store or the disk does not do what it must."""

    exit_code = 6


class NotTrusted(QnnbuildError):
    """It would run code of a repo that nobody has said to be trusted, or leave that repo."""

    exit_code = 8


BY_EXIT_CODE: dict[int, type[QnnbuildError]] = {
    kind.exit_code: kind for kind in (RecipeError, NothingMatches, ToolError, NotGood, StoreError)
}


def did_you_mean(
    word: str, known: Iterable[str], otherwise: str | None = None, *, alike: float = 0.6
) -> str | None:
    """A hint with the nearest known words, or `otherwise`; `alike` is difflib's ratio, up to 1."""
    by_folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), by_folded, n=3, cutoff=alike)
    if not near:
        return otherwise
    names = " or ".join(f"'{by_folded[name]}'" for name in near)
    return f"did you mean {names}?" + (f" {otherwise}" if otherwise else "")
