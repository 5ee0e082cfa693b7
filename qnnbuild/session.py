"""A session: a repo of recipes as it is now, its plan, and what can be asked of it.

Commands and the doit bridge stand on it; `repo` reads what it is made of.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from qnnbuild.actions.plan import Plan
from qnnbuild.cluster.opening import executor_of
from qnnbuild.digest import Json
from qnnbuild.engine.ahead import make_ready
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import ENDS, BuildFolder
from qnnbuild.engine.guard import guarded
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.last_run import RunLog
from qnnbuild.engine.leases import Lease, checkout_of
from qnnbuild.engine.limiting import limited_runner
from qnnbuild.engine.outside import outside
from qnnbuild.engine.places import BUILD, RECORDS
from qnnbuild.engine.putting_back import put_back
from qnnbuild.engine.recipe_folders import recipe_folders
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.report_file import refresh
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.sharing import remote_store, tell
from qnnbuild.engine.signatures import sign_built
from qnnbuild.engine.standing_files import log_of
from qnnbuild.engine.state import Outcome, has_work
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store, on_disk
from qnnbuild.engine.tracked import check_store
from qnnbuild.engine.trust import Trust, check_folders, import_path, trust_of
from qnnbuild.engine.watcher import Watcher
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import Problem, RecipeError
from qnnbuild.model.chips import Chips
from qnnbuild.model.recipe import Target
from qnnbuild.model.settings import SETTINGS_FILE, Settings
from qnnbuild.model.targets import read_good_recipes
from qnnbuild.planner import plan_of, problems_of
from qnnbuild.repo import (
    below,
    chips_of,
    find_root,
    read,
    recipe_files,
    settings_of,
    store_folder,
    toolchains_of,
)
from qnnbuild.report.index import expected_failures
from qnnbuild.report.report import Subject
from qnnbuild.toolchains.work import Toolchain

WARM = "qnnbuild.work.warm:load"


@dataclass(frozen=True, kw_only=True)
class Session:
    """What the recipes say. `problems` is not empty only if bad recipes were to be left out."""

    root: Path
    settings: Settings
    chips: Chips
    toolchains: Mapping[str, Toolchain]
    targets: tuple[Target, ...]
    recipes: Mapping[str, str | None]  # the files that were read → their model; None: a bad one
    problems: tuple[Problem, ...]
    plan: Plan
    unseen: frozenset[str] = field(default_factory=frozenset)  # models whose recipes were not read
    checkout: Path | None = None  # of files of another revision: whose store and tools they are

    @property
    def home(self) -> Path:
        return self.checkout or self.root

    @property
    def store_folder(self) -> Path:
        return store_folder(self.home, self.settings)

    @property
    def subject(self) -> Subject:
        """What a report of it is about."""
        return Subject(
            plan=self.plan,
            targets=self.targets,
            toolchains=self.toolchains,
            problems=self.problems,
            unseen=self.unseen,
        )


def open_session(
    root: Path | None = None,
    *,
    files: Sequence[str] | None = None,
    bad_left_out: bool = False,
    unseen: frozenset[str] = frozenset(),
) -> Session:
    """Read the recipes of a repo and plan. Raises RecipeError with everything that is wrong.

    `files` are the recipes to read, relative to the current folder; None: all of the repo.
    With `bad_left_out` the good recipes are planned all the same, and the problems told.
    """
    root = root or find_root()
    settings = settings_of(root)
    chips = chips_of(root, settings)
    toolchains = toolchains_of(root, settings)
    paths = recipe_files(root, settings) if files is None else [below(root, f) for f in files]
    texts = [(path, read(root, path)) for path in paths]
    targets, problems = read_good_recipes(texts, chips, settings)
    problems = [*problems, *problems_of(targets, toolchains)]
    wrong = {p.at.file for p in problems if p.at and p.severity == "error"}
    if problems and not bad_left_out and any(p.severity == "error" for p in problems):
        raise RecipeError.of(problems)
    good = tuple(t for t in targets if t.recipe not in wrong)
    models = {target.recipe: target.model for target in good}
    return Session(
        root=root,
        settings=settings,
        chips=chips,
        toolchains=toolchains,
        targets=good,
        recipes={path: models.get(path) for path in paths},
        problems=tuple(problems),
        plan=plan_of(good, toolchains),
        unseen=unseen,
    )


def open_store(session: Session) -> Store:
    return Store(session.store_folder, Stats(), only_look=True)


@contextmanager
def open_builder(session: Session, *, only_look: bool = False) -> Iterator[Builder]:
    """A builder for the session's plan; nothing of it runs on when the block ends.

    With `only_look` a store that is not there is not made: everything was never built then.
    """
    live = Live(session, only_look=only_look)
    try:
        yield live.builder
    finally:
        live.close()


class Live:
    """A session with its builder: what doit's tasks need (`bridge.session.Session`)."""

    finished: Sequence[str | Path] = tuple(f"{BUILD}/{name}" for name in ENDS)

    def __init__(self, session: Session, *, only_look: bool = False) -> None:
        self.session = session
        self.builder = _builder(session, only_look=only_look)
        checkout = checkout_of(session.root)
        self._lease = None if only_look else Lease.take(session.store_folder, checkout)
        self._run_log = RunLog(session.root)
        self.state = self.builder.state
        self.paths = self.builder.paths
        self.seconds = self.builder.records.seconds

    def expect(self, names: Collection[str]) -> None:
        """Hear of all that the build is about to look at."""
        self.builder.room.expect(names)
        make_ready(self.builder, names)
        self.builder.putting_back = put_back(self.builder, names)

    @property
    def plan(self) -> Plan:
        return self.session.plan

    @property
    def problems(self) -> Sequence[Problem]:
        return self.session.problems

    @property
    def recipes(self) -> Mapping[str, str | None]:
        return self.session.recipes

    @property
    def threads(self) -> int | None:
        """Of the settings, else of the executor, which gets ready when something has to run."""
        executor = self.builder.executor
        elsewhere = executor is not self.builder.runner
        ready = executor.ready() if elsewhere and has_work(self.state, self.plan.actions) else None
        return self.session.settings.threads or ready

    @property
    def store_folder(self) -> Path | None:
        """Out of which bundles come back."""
        return self.session.store_folder

    @property
    def folders(self) -> Sequence[str]:
        """The folders, relative to the root, in which recipes are looked for."""
        return recipe_folders(self.session.root, self.session.settings.recipes, BUILD)

    @cached_property
    def common(self) -> Sequence[str | Path]:
        """Files that every action depends on, whether they are there or not."""
        tools = {a.tools: a for a in self.plan}
        calls = {a.call: a for a in self.plan}
        measured = {
            path
            for action in (*tools.values(), *calls.values())
            for path in self.builder.identity.files(action)
        }
        return [SETTINGS_FILE, self.session.settings.chips, *sorted(measured)]

    def make(self, name: str, *, force: bool = False) -> Outcome:
        return self._run_log.make(name, partial(self.builder.make, name, force=force))

    def watch(self, watcher: Watcher) -> None:
        """Have `watcher` hear what actions wait for, and when they run."""
        self.builder.runner.turns.watcher = watcher

    def log(self, name: str) -> Path | None:
        """Where a run with its present key leaves its log; None: the key is not known."""
        return log_of(self.builder, name)

    def clean(self, names: Collection[str], *, dry_run: bool) -> list[str]:
        """Take what these actions put into build/ away; return what it was."""
        removed: list[str] = []
        for name in names:
            lands = self.plan[name].lands
            if lands is not None:
                removed += self.builder.folder.clean(lands, dry_run=dry_run)
        if removed and not dry_run and self.builder.folder.reindex(self._failures):
            refresh(self.session.subject, self.builder)
        return removed

    @property
    def _failures(self) -> Sequence[Mapping[str, Json]]:
        return expected_failures(self.session.targets)

    def forget(self, names: Collection[str]) -> None:
        self.builder.forget(names)

    def finish(self) -> None:
        self.builder.finish(self._failures)
        self._run_log.finish()
        refresh(self.session.subject, self.builder)
        sign_built(self.builder.folder.root, self.builder.bundles(), os.environ)

    def cancel(self) -> None:
        self.builder.cancel()

    def close(self) -> None:
        self.builder.executor.close()
        self.builder.runner.close()
        self.builder.remote.close()
        if self.builder.putting_back is not None:
            self.builder.putting_back.end()
        self.builder.folder.close()
        self.builder.records.close()
        if self._lease is not None:
            self._lease.end()


def open_live(root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]) -> Live:
    """For doit: bad recipes are told and the good ones built when the user asked to go on."""
    files = None if recipes is None else [str(root / path) for path in recipes]
    return Live(open_session(root, files=files, bad_left_out=True, unseen=unseen))


def _builder(session: Session, *, only_look: bool) -> Builder:
    folder = session.store_folder
    file = folder / RECORDS
    trust = trust_of(os.environ)
    check_folders(trust, session.root, {BUILD: session.root / BUILD, "the store": folder})
    check_store(trust, session.home, folder)
    nothing_there = not os.path.lexists(folder) or (folder.is_dir() and not file.exists())
    if only_look and nothing_there:
        return _builder_with(session, folder, Path(":memory:"), only_look=True)
    with on_disk("the store cannot be used"):
        folder.mkdir(parents=True, exist_ok=True)
        return _builder_with(session, folder, file, only_look=only_look)


def _builder_with(session: Session, folder: Path, file: Path, *, only_look: bool) -> Builder:
    records = Records(file, checkout_of(session.root), tell)
    stats = Stats(records)
    store = Store(folder, stats, only_look=only_look)
    if not only_look:
        store.sweep()
        records.keep_checkout(str(session.root))
    trust = trust_of(os.environ)
    sdks = Sdks(session.settings.sdks, session.home, stats, trust=trust)
    brings = bool(session.settings.toolchains)
    path = import_path(trust, session.root, sys.path, brings=brings)
    given = {**outside(trust, os.environ), **sdks.variables()}
    limits = session.settings.limits
    runner = limited_runner(limits, store, records, given, Workers(warm=WARM, path=path))
    builder = Builder(
        session.plan,
        store=store,
        records=records,
        inputs=Inputs(session.root, stats, records, trust),
        identity=Identity(stats, sdks, records),
        runner=runner,
        folder=BuildFolder(session.root / BUILD, store),
        unseen=session.unseen,
        remote=_remote_store(session, store, records, trust),
    )
    executor = executor_of(session.settings, os.environ, builder, trust)
    builder.executor = guarded(executor, session.plan, trust)
    return builder


def _remote_store(session: Session, store: Store, records: Records, trust: Trust) -> RemoteStore:
    settings = session.settings
    return remote_store(
        settings.remote_cache,
        os.environ,
        store,
        records,
        trust,
        root=session.root,
        at=settings.places.get("remote_cache"),
    )
