"""What the code of an action sees while it runs: its folder, its values, and how to speak."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class WorkError(Exception):
    """The run cannot end well. `place` names what the user wrote: "source", "inputs.x", ….

    The parent looks the place up in the action (a missing "inputs.x" falls back to "inputs",
    then to the graph) and shows file, line and column. `exit_code` is one of errors.BY_EXIT_CODE.
    """

    def __init__(
        self,
        message: str,
        *,
        place: str = "source",
        facts: Iterable[tuple[str, str]] = (),
        hint: str | None = None,
        exit_code: int = 4,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.facts = tuple(facts)
        self.hint = hint
        self.exit_code = exit_code


@dataclass(frozen=True, kw_only=True)
class Notice:
    message: str
    place: str = "source"


@dataclass(kw_only=True)
class Run:
    """One run. Paths are relative to the current folder, which is private and gone afterwards."""

    params: Mapping[str, Any]
    inputs: Mapping[str, Path]  # a folder each: in/NAME
    outputs: Mapping[str, Path]  # a folder each, already there and empty: out/NAME
    warnings: list[Notice] = field(default_factory=list)
    peak_bytes: int = 0  # of processes that worked for this run and are not its children

    def warn(self, message: str, *, place: str = "source") -> None:
        """Say something that does not stop the run; it is kept in the record and shown."""
        self.warnings.append(Notice(message=message, place=place))
