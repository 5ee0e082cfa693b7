"""Files that a command makes in a user's folder: never over what is there, never half of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from qnnbuild.engine.store import copy_file, on_disk, place
from qnnbuild.errors import RecipeError


def write_new(files: Mapping[Path, str]) -> None:
    """Write texts. Raises RecipeError before anything is written when one of the files exists."""
    refuse_existing(list(files))
    with on_disk("a new file cannot be written"):
        for path, text in files.items():
            place(path, text.encode())


def copy_new(files: Mapping[Path, Path]) -> None:
    """Copy files, target → source, with the same promise."""
    refuse_existing(list(files))
    with on_disk("a file cannot be copied"):
        for target, source in files.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = target.with_name(f".{target.name}.{uuid4().hex}.new")
            try:
                copy_file(source, beside)
                os.replace(beside, target)
            finally:
                beside.unlink(missing_ok=True)


def refuse_existing(paths: list[Path]) -> None:
    there = [path for path in paths if os.path.lexists(path)]
    if there:
        raise RecipeError(
            f"{there[0]} is there already",
            facts=[("also there", str(path)) for path in there[1:]],
            hint="give another name with --name, or move it away",
        )
