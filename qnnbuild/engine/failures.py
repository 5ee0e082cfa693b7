"""How actions failed, by key: beside their logs, until one succeeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qnnbuild.digest import Digest
from qnnbuild.engine.small_file import read_json
from qnnbuild.engine.store import Store, place

if TYPE_CHECKING:
    from qnnbuild.errors import QnnbuildError

KEYS = {"message", "at", "facts", "hint", "exit_code"}


def told_of(error: QnnbuildError) -> dict[str, Any]:
    """{message, at, facts: pairs, hint, exit_code}: of the first problem, for an action has one."""
    problem = error.problems[0]
    return {
        "message": problem.message,
        "at": str(problem.at) if problem.at else None,
        "facts": [list(fact) for fact in problem.facts],
        "hint": problem.hint,
        "exit_code": error.exit_code,
    }


class Failures:
    def __init__(self, store: Store) -> None:
        self.store = store

    def keep(self, key: Digest, error: QnnbuildError) -> None:
        place(self._path(key), json.dumps(told_of(error), ensure_ascii=False).encode())

    def drop(self, key: Digest) -> None:
        self._path(key).unlink(missing_ok=True)

    def get(self, key: Digest) -> dict[str, Any] | None:
        """As `told_of` has it; None when its last run was good."""
        try:
            found = read_json(self._path(key))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and found.keys() == KEYS else None

    def told(self, key: Digest) -> tuple[str, ...]:
        """That its last run failed, as a reason to run again."""
        found = self.get(key)
        return () if found is None else (f"it failed the last time: {found['message']}",)

    def _path(self, key: Digest) -> Path:
        return self.store.log(key).with_suffix(".failure.json")
