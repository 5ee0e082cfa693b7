"""A repo of recipes on the disk: where it is, and what its files say before anything is planned.

The only place that reads recipes, settings and chips. What a repo of strangers may not do is
refused here first: see engine/trust.py.
"""

from __future__ import annotations

import importlib
import os
import stat
import sys
from pathlib import Path

from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import on_disk
from qnnbuild.engine.trust import Trust, trust_of
from qnnbuild.errors import NothingMatches, Problem, RecipeError, did_you_mean
from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.own_chips import with_own_chips
from qnnbuild.model.settings import SETTINGS_FILE, Plugin, Settings, read_settings
from qnnbuild.planner import TOOLCHAINS
from qnnbuild.text.decode import MAX_BYTES, decode
from qnnbuild.toolchains.qairt import Qairt
from qnnbuild.toolchains.work import Toolchain

STORE = ".qnnbuild"


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
    settings = settings or settings_of(root)
    if given := os.environ.get("QNNBUILD_STORE"):
        return root / given
    folder = root / (settings.store or STORE)
    trust_of(os.environ).check_inside(folder, root, "the store", settings.places.get("store"))
    return folder


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
    return chips_of(root, settings_of(root))


def open_toolchains(root: Path | None = None) -> dict[str, Toolchain]:
    """The packaged toolchains, with the repo's own when there is a repo here."""
    try:
        root = root or find_root()
    except NothingMatches:
        return {toolchain.name: toolchain for toolchain in TOOLCHAINS}
    return toolchains_of(root, settings_of(root))


def open_sdks(stats: Stats, root: Path | None = None) -> Sdks:
    """Where the SDKs are that the repo declares, when there is a repo here."""
    try:
        root = root or find_root()
    except NothingMatches:
        return Sdks({}, Path(), stats)
    return Sdks(settings_of(root).sdks, root, stats, trust=trust_of(os.environ))


def settings_of(root: Path) -> Settings:
    path = root / SETTINGS_FILE
    return read_settings(read(root, SETTINGS_FILE)) if path.exists() else Settings()


def read(root: Path, name: str) -> bytes:
    """A file of the repo that is text: no more of it than such a file may have."""
    path = root / name
    trust_of(os.environ).check_inside(path, root, name)
    with on_disk(f"{name} cannot be read"):
        if not stat.S_ISREG(path.stat().st_mode):  # else a device would be read for ever
            raise RecipeError(
                f"{name} is no file, but a folder or a device",
                facts=[("file", str(path.resolve()))],
                hint="put a text file in its place, or take it away",
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)


def chips_of(root: Path, settings: Settings) -> Chips:
    path = root / settings.chips
    chips = packaged_chips()
    if not path.exists():
        return chips
    text = decode(settings.chips, read(root, settings.chips))
    if isinstance(text, Problem):
        raise RecipeError.of([text])
    return with_own_chips(chips, text, settings.chips)


def toolchains_of(root: Path, settings: Settings) -> dict[str, Toolchain]:
    """The packaged toolchains, the SDKs that the repo declares, and those that it brings itself."""
    trust = trust_of(os.environ)
    return {
        **{toolchain.name: toolchain for toolchain in TOOLCHAINS},
        **{name: Qairt(sdk) for name, sdk in settings.sdks.items()},
        **{name: _plugin(root, p, trust) for name, p in settings.toolchains.items()},
    }


def _plugin(root: Path, plugin: Plugin, trust: Trust) -> Toolchain:
    if not trust.given:
        raise trust.refused(
            f"the toolchain '{plugin.name}' is code of this repo, which is not trusted",
            plugin.span,
            code=plugin.plugin,
        )
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


def below(root: Path, file: str) -> str:
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
