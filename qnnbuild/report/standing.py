"""How it stands with an action, as far as a report tells it. Data; who knows it is the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from qnnbuild.actions.record import Record


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What went wrong with an action, in words that need no terminal around them."""

    message: str
    exit_code: int
    at: str | None = None  # file:line:column
    facts: tuple[tuple[str, str], ...] = ()
    hint: str | None = None
    last_lines: tuple[str, ...] = ()  # of the tool
    log: str | None = None  # below the store


@dataclass(frozen=True, kw_only=True)
class Standing:
    """`key` and `log` are None while the key is not known; `record` is of a current action."""

    kind: Literal["current", "stale", "waits", "failed"]
    why: tuple[str, ...] = ()
    key: str | None = None
    log: str | None = None  # below the store
    record: Record | None = None
    failure: Failure | None = field(default=None)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One action of a build, in seconds after the build's first. `how` is as Outcome has it, or
    failed; `seconds` is its own time, without what it waited for; 0 for what did not run."""

    how: str
    began: float
    ended: float
    seconds: float
    worker: str = ""  # of a cluster; empty for this machine


@dataclass(frozen=True, kw_only=True)
class LastRun:
    """The last build that made anything, or tried to. What was current already is not in it."""

    began: str  # UTC
    seconds: float
    actions: Mapping[str, Ran]


class Known(Protocol):
    """What a report asks for."""

    def standing(self, name: str) -> Standing:
        """Of any action of the plan."""
        ...

    def read(self, name: str, output: str, file: str) -> Any:
        """A JSON file that a current action made; None where it made no such file."""
        ...

    def last_run(self) -> LastRun | None:
        """None where nothing has run in this checkout yet."""
        ...
