"""A session: a repo of recipes as it is now, its plan, and what can be asked of it.

The only place that reads recipes from the disk. Commands and the doit bridge stand on it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from pathlib import Path, PurePosixPath

from qnnbuild.actions.plan import Plan
from qnnbuild.digest import Json
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import ENDS, BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.leases import Lease
from qnnbuild.engine.records import Records
from qnnbuild.engine.report_file import refresh
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.sharing import remote_store
from qnnbuild.engine.state import Outcome
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store, on_disk
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import NothingMatches, Problem, RecipeError, did_you_mean
from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.own_chips import with_own_chips
from qnnbuild.model.recipe import Target
from qnnbuild.model.settings import SETTINGS_FILE, Plugin, Settings, read_settings
from qnnbuild.model.targets import read_good_recipes
from qnnbuild.planner import TOOLCHAINS, plan_of, problems_of
from qnnbuild.report.index import expected_failures
from qnnbuild.report.report import Subject
from qnnbuild.text.decode import decode
from qnnbuild.toolchains.qairt import Qairt
from qnnbuild.toolchains.work import Toolchain

WARM = ("qnnbuild.work.warm:warm",)
STORE = ".qnnbuild"
RECORDS = "records.db"
BUILD = "build"


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

    @property
    def store_folder(self) -> Path:
        return store_folder(self.root, self.settings)

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
    settings = _settings(root)
    chips = _chips(root, settings)
    toolchains = _toolchains(root, settings)
    paths = recipe_files(root, settings) if files is None else [_below(root, f) for f in files]
    texts = [(path, _read(root / path)) for path in paths]
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


def find_root(start: Path | None = None) -> Path:
    """The nearest folder upwards that is a repo of recipes."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / SETTINGS_FILE).exists() or (folder / "recipes").is_dir():
            return folder
    raise NothingMatches(
        "this is no repo of recipes: there is no qnnbuild.yaml and no recipes/ here or above",
        facts=[("folder", str(here))],
        hint="qnnbuild init DIR makes one",
    )


def store_folder(root: Path, settings: Settings | None = None) -> Path:
    """QNNBUILD_STORE, or `store:` of the settings, or .qnnbuild in the repo."""
    settings = settings or _settings(root)
    return root / (os.environ.get("QNNBUILD_STORE") or settings.store or STORE)


def recipe_files(root: Path, settings: Settings) -> list[str]:
    """The repo's recipes, relative to its root, sorted. A repo inside this one keeps its own."""
    found = {
        path.relative_to(root)
        for pattern in settings.recipes
        for path in root.glob(pattern)
        if path.is_file()
    }
    folders = {folder for path in found for folder in path.parents[:-1]}
    other = {folder for folder in folders if (root / folder / SETTINGS_FILE).exists()}
    return sorted(path.as_posix() for path in found if other.isdisjoint(path.parents))


def open_chips(root: Path | None = None) -> Chips:
    """The packaged chips, with the repo's own when there is a repo here."""
    try:
        root = root or find_root()
    except NothingMatches:
        return packaged_chips()
    return _chips(root, _settings(root))


def open_toolchains(root: Path | None = None) -> dict[str, Toolchain]:
    """The packaged toolchains, with the repo's own when there is a repo here."""
    try:
        root = root or find_root()
    except NothingMatches:
        return {toolchain.name: toolchain for toolchain in TOOLCHAINS}
    return _toolchains(root, _settings(root))


def open_sdks(stats: Stats, root: Path | None = None) -> Sdks:
    """Where the SDKs are that the repo declares, when there is a repo here."""
    try:
        root = root or find_root()
    except NothingMatches:
        return Sdks({}, Path(), stats)
    return Sdks(_settings(root).sdks, root, stats)


def _settings(root: Path) -> Settings:
    path = root / SETTINGS_FILE
    return read_settings(_read(path)) if path.exists() else Settings()


def _read(path: Path) -> bytes:
    with on_disk(f"{path.name} cannot be read"):
        return path.read_bytes()


def _chips(root: Path, settings: Settings) -> Chips:
    path = root / settings.chips
    chips = packaged_chips()
    if not path.exists():
        return chips
    text = decode(settings.chips, _read(path))
    if isinstance(text, Problem):
        raise RecipeError.of([text])
    return with_own_chips(chips, text, settings.chips)


def _toolchains(root: Path, settings: Settings) -> dict[str, Toolchain]:
    """The packaged toolchains, the SDKs that the repo declares, and those that it brings itself."""
    return {
        **{toolchain.name: toolchain for toolchain in TOOLCHAINS},
        **{name: Qairt(sdk) for name, sdk in settings.sdks.items()},
        **{name: _plugin(root, p) for name, p in settings.toolchains.items()},
    }


def _plugin(root: Path, plugin: Plugin) -> Toolchain:
    module, _, attribute = plugin.plugin.partition(":")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        found: Toolchain = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise RecipeError(
            f"the toolchain '{plugin.name}' cannot be loaded: {error}",
            at=plugin.span,
            hint="plugin: module:ATTRIBUTE, with the module in the repo's root or installed",
        ) from error
    return found


def _below(root: Path, file: str) -> str:
    path = Path(file).resolve()
    if path.is_dir():
        hint = "name its files, or none: then all recipes of the repo are looked at"
        raise NothingMatches(f"{file} is a folder, no recipe", hint=hint)
    if not path.is_file():
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise NothingMatches(f"no such file: {file}", hint=did_you_mean(path.name, near))
    if not path.is_relative_to(root):
        raise NothingMatches(f"{file} is not in this repo", facts=[("repo", str(root))])
    return path.relative_to(root).as_posix()


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
        self.state = self.builder.state
        self.paths = self.builder.paths

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
        return self.session.settings.threads

    @property
    def folders(self) -> Sequence[str]:
        """The folders, relative to the root, in which recipes are looked for."""
        root = self.session.root
        found: set[str] = set()
        for pattern in self.session.settings.recipes:
            parts = PurePosixPath(pattern).parts[:-1]
            fixed = list(takewhile(lambda part: not set(part) & set("*?["), parts))
            found.add("/".join(fixed) or ".")
            if len(fixed) < len(parts):  # a new folder below may bring recipes, however deep
                found.update(_folders_below(root, root.joinpath(*fixed)))
        return sorted(found)

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
        return self.builder.make(name, force=force)

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
        refresh(self.session.subject, self.builder)

    def cancel(self) -> None:
        self.builder.cancel()

    def close(self) -> None:
        self.builder.runner.workers.close()
        self.builder.remote.close()
        self.builder.records.close()
        if self._lease is not None:
            self._lease.end()


def _folders_below(root: Path, top: Path) -> Iterator[str]:
    for folder, inner, _ in os.walk(top):
        inner[:] = [name for name in inner if not name.startswith(".") and name != BUILD]
        yield from (Path(folder, name).relative_to(root).as_posix() for name in inner)
        inner[:] = [name for name in inner if not Path(folder, name, SETTINGS_FILE).exists()]


def open_live(root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]) -> Live:
    """For doit: bad recipes are told and the good ones built when the user asked to go on."""
    files = None if recipes is None else [str(root / path) for path in recipes]
    return Live(open_session(root, files=files, bad_left_out=True, unseen=unseen))


def checkout_of(root: Path) -> str:
    """What names of actions belong to in a store that several folders share."""
    return sha256(os.fsencode(root)).hexdigest()[:16]


def _builder(session: Session, *, only_look: bool) -> Builder:
    folder = session.store_folder
    file = folder / RECORDS
    nothing_there = not os.path.lexists(folder) or (folder.is_dir() and not file.exists())
    if only_look and nothing_there:
        return _builder_with(session, folder, Path(":memory:"), only_look=True)
    with on_disk("the store cannot be used"):
        folder.mkdir(parents=True, exist_ok=True)
        return _builder_with(session, folder, file, only_look=only_look)


def _builder_with(session: Session, folder: Path, file: Path, *, only_look: bool) -> Builder:
    records = Records(file, checkout_of(session.root))
    stats = Stats(records.stats())
    store = Store(folder, stats, only_look=only_look)
    if not only_look:
        store.sweep()
        records.keep_checkout(str(session.root))
    sdks = Sdks(session.settings.sdks, session.root, stats)
    path = [str(session.root), *(str(Path(p).absolute()) for p in sys.path)]
    return Builder(
        session.plan,
        store=store,
        records=records,
        inputs=Inputs(session.root, stats, records),
        identity=Identity(stats, sdks),
        runner=Runner(store, Workers(warm=WARM, path=path), {**os.environ, **sdks.variables()}),
        folder=BuildFolder(session.root / BUILD, store),
        unseen=session.unseen,
        remote=remote_store(session.settings.remote_cache, os.environ, store, records),
    )
