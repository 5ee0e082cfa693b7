"""doit's DB: nothing about our actions, and a file when a dodo.py has tasks of its own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any


class Db:
    """Our store is the only truth about our actions; a second one would only be wrong at times."""

    desc = "qnnbuild's store decides; a file is kept for a dodo.py's own tasks only"

    def __init__(self, name: str, codec: Any, *, module_name: str | None = None) -> None:
        self.name = name
        self.codec = codec
        self.module_name = module_name
        self.ours: Collection[str] = frozenset()
        self._file: Any = None

    def _theirs(self) -> Any:
        if self._file is None:
            from doit.dependency import SqliteDB

            Path(self.name).parent.mkdir(parents=True, exist_ok=True)
            self._file = SqliteDB(self.name, self.codec)
        return self._file

    def set(self, task_id: str, dependency: str, value: Any) -> None:
        if task_id not in self.ours:
            self._theirs().set(task_id, dependency, value)

    def get(self, task_id: str, dependency: str) -> Any:
        return None if task_id in self.ours else self._theirs().get(task_id, dependency)

    def in_(self, task_id: str) -> bool:
        return task_id not in self.ours and bool(self._theirs().in_(task_id))

    def remove(self, task_id: str) -> None:
        if task_id not in self.ours:
            self._theirs().remove(task_id)

    def remove_all(self) -> None:
        if Path(self.name).exists():
            self._theirs().remove_all()

    def dump(self) -> None:
        if self._file is not None:
            self._file.dump()
