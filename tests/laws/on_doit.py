"""Real doit over a random plan: the loader, and the session that it opens."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from qnnbuild.bridge.loader import Loader
from qnnbuild.engine.standing_files import log_of

if TYPE_CHECKING:
    from qnnbuild.actions.plan import Plan
    from qnnbuild.engine.state import Outcome, State
    from qnnbuild.engine.watcher import Watcher
    from qnnbuild.errors import Problem
    from tests.laws.world import World

PLAN = "plan.json"
"""The one recipe: what the random plan is."""


class LawSession:
    problems: Sequence[Problem] = ()
    recipes: Mapping[str, str | None] = {PLAN: "model"}
    folders = (".",)
    common: Sequence[str | Path] = ()
    finished: Sequence[str | Path] = ()
    store_folder: Path | None = None
    threads: int | None = None

    def __init__(self, world: World) -> None:
        self.world = world
        self.builder = world.builder(world.read_plan())

    @property
    def plan(self) -> Plan:
        return self.builder.plan

    def expect(self, names: Collection[str]) -> None:
        self.builder.room.expect(names)

    def state(self, name: str) -> State:
        return self.builder.state(name)

    def make(self, name: str, *, force: bool = False) -> Outcome:
        return self.builder.make(name, force=force)

    def watch(self, watcher: Watcher) -> None:
        self.builder.runner.turns.watcher = watcher

    def seconds(self, names: Collection[str]) -> Mapping[str, float]:
        return self.builder.records.seconds(names)

    def log(self, name: str) -> Path | None:
        return log_of(self.builder, name)

    def paths(self, name: str) -> tuple[list[Path], list[Path]]:
        return self.builder.paths(name)

    def clean(self, names: Collection[str], *, dry_run: bool) -> list[str]:
        return []

    def forget(self, names: Collection[str]) -> None:
        self.builder.forget(names)

    def finish(self) -> None:
        # as Builder.finish, but the server is the next build's too
        self.builder.records.keep_stats(self.builder.store.stats.news())

    def cancel(self) -> None:
        self.builder.cancel()

    def close(self) -> None:
        self.builder.records.close()


class LawLoader(Loader):
    """`world` is set by whoever runs doit in this process."""

    world: World

    def open_session(
        self, root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]
    ) -> LawSession:
        return LawSession(self.world)


def doit(world: World, *words: str) -> int:
    """Run doit in the world's folder, in this process; gives its exit code."""
    from doit.doit_cmd import DoitMain

    plugins = import_module("qnnbuild.bridge.dodo").PLUGINS
    LawLoader.world = world
    config = {
        **plugins,
        "GLOBAL": {"loader": "laws"},
        "LOADER": {"laws": "tests.laws.on_doit:LawLoader"},
    }
    before = Path.cwd()
    os.chdir(world.root)
    try:
        return int(DoitMain(extra_config=config).run(list(words)))
    finally:
        os.chdir(before)
