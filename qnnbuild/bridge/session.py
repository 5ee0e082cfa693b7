"""What doit's tasks need of a build. `qnnbuild.session` opens the real one, tests their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from qnnbuild.actions.plan import Plan
    from qnnbuild.engine.state import Outcome, State
    from qnnbuild.engine.watcher import Watcher
    from qnnbuild.errors import Problem


class Session(Protocol):
    """A plan that was opened for some recipes or all, and its builder. Safe between threads."""

    @property
    def plan(self) -> Plan: ...

    @property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with recipes, and warnings; bad recipes are not in the plan."""
        ...

    @property
    def recipes(self) -> Mapping[str, str | None]:
        """The recipes that were opened, relative to the root → their model, None when it is bad."""
        ...

    @property
    def folders(self) -> Sequence[str]:
        """The folders, relative to the root, in which recipes are looked for."""
        ...

    @property
    def common(self) -> Sequence[str | Path]:
        """Files that every action depends on, whether they are there or not."""
        ...

    @property
    def finished(self) -> Sequence[str | Path]:
        """What `finish` writes, relative to the root: build/index.json, build/report.html."""
        ...

    @property
    def store_folder(self) -> Path | None:
        """The store out of which bundles come back; None: they are made again."""
        ...

    @property
    def threads(self) -> int | None:
        """How many actions may run at once where the command line does not say it."""
        ...

    def expect(self, names: Collection[str], /) -> None:
        """All that this build looks at, before any of it runs."""
        ...

    def state(self, name: str) -> State: ...

    def make(self, name: str, *, force: bool = False) -> Outcome: ...

    def paths(self, name: str) -> tuple[list[Path], list[Path]]: ...

    def watch(self, watcher: Watcher, /) -> None:
        """Have `watcher` hear what actions wait for, and when they run."""
        ...

    def seconds(self, names: Collection[str], /) -> Mapping[str, float]:
        """What the last run of each took; those that never ran are not in it."""
        ...

    def log(self, name: str, /) -> Path | None:
        """Where a run with its present key leaves its log; None: the key is not known."""
        ...

    def clean(self, names: Collection[str], *, dry_run: bool) -> list[str]:
        """Take what these actions put into build/ away; return what it was."""
        ...

    def forget(self, names: Collection[str]) -> None: ...

    def finish(self) -> None: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...
