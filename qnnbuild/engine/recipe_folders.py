"""The folders in which new recipes may appear."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath

from qnnbuild.model.settings import SETTINGS_FILE


def recipe_folders(root: Path, patterns: Sequence[str], but: str) -> list[str]:
    """Relative to `root`, sorted; `but` is the name of folders that hold none."""
    found: set[str] = set()
    for pattern in patterns:
        parts = PurePosixPath(pattern).parts[:-1]
        fixed = list(takewhile(lambda part: not set(part) & set("*?["), parts))
        found.add("/".join(fixed) or ".")
        if len(fixed) < len(parts):  # a new folder below may bring recipes, however deep
            found.update(_below(root, root.joinpath(*fixed), but))
    return sorted(found)


def _below(root: Path, top: Path, but: str) -> Iterator[str]:
    for folder, inner, _ in os.walk(top):
        inner[:] = [name for name in inner if not name.startswith(".") and name != but]
        yield from (Path(folder, name).relative_to(root).as_posix() for name in inner)
        # a repo inside this one keeps its own recipes
        inner[:] = [name for name in inner if not Path(folder, name, SETTINGS_FILE).exists()]
