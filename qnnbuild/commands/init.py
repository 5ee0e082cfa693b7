"""qnnbuild init DIR: a new repo of recipes that builds at once."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path

from qnnbuild.errors import RecipeError

SCHEMAS = ("recipe.schema.json", "settings.schema.json", "ort_options.schema.json")
"""Copied into the repo, so that editors find them beside the recipes."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="the new repo; it may exist when it is empty")


def run(args: Namespace) -> int:
    folder: Path = args.folder
    # an empty repo that was just cloned or made by `git init` is as good as a new folder
    if folder.exists() and (not folder.is_dir() or any(p.name != ".git" for p in folder.iterdir())):
        raise RecipeError(
            f"{folder} is there already and not empty", hint="give the name of a new folder"
        )
    values = {"name": folder.resolve().name, "version": version("qnnbuild")}
    package = resources.files("qnnbuild")
    _copy(package / "starter", folder, values)
    for schema in SCHEMAS:
        _write(folder / "schema" / schema, (package / "model" / schema).read_text(encoding="utf-8"))
    print(f"made {folder}; now: cd {folder} && doit", file=sys.stderr)
    return 0


def _copy(source: Traversable, to: Path, values: dict[str, str]) -> None:
    for entry in source.iterdir():
        # files with a leading dot would not be seen in the package by people who look for them
        name = entry.name.replace("dot_", ".", 1) if entry.name.startswith("dot_") else entry.name
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            _copy(entry, to / name, values)
        else:
            text = entry.read_text(encoding="utf-8")
            for key, value in values.items():
                text = text.replace(f"{{{key}}}", value)
            _write(to / name, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
