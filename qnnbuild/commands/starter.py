"""The files around recipes that a new repo gets: doit's, settings, schemas, a workflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.metadata import metadata
from importlib.resources.abc import Traversable
from pathlib import Path

SCHEMAS = ("recipe.schema.json", "settings.schema.json", "ort_options.schema.json")
"""Copied into the repo, so that editors find them beside the recipes."""

EXAMPLE = "recipes"
"""The folder of the starter's own recipe."""

AT = "Repository, https://github.com/"
"""How the package's metadata begin to say where it is developed."""


def starter_files(folder: Path, *, example: bool) -> dict[Path, str]:
    """Paths and texts of a new repo in `folder`, with the starter's own recipe or without."""
    told = metadata("qnnbuild")
    values = {
        "name": folder.resolve().name,
        "version": told["Version"],
        "repository": _repository(told.get_all("Project-URL", [])),
    }
    package = resources.files("qnnbuild")
    files = dict(_files(package / "starter", folder, values))
    if not example:
        files = {path: text for path, text in files.items() if path.parent.name != EXAMPLE}
    for schema in SCHEMAS:
        text = (package / "model" / schema).read_text(encoding="utf-8")
        files[folder / "schema" / schema] = text
    return files


def _repository(urls: Sequence[str]) -> str:
    """OWNER/NAME of where this package is from, which has the workflows that a repo calls."""
    (found,) = (url.removeprefix(AT) for url in urls if url.startswith(AT))
    return found


def _files(source: Traversable, to: Path, values: dict[str, str]) -> Iterator[tuple[Path, str]]:
    for entry in source.iterdir():
        # files with a leading dot would not be seen in the package by people who look for them
        name = entry.name.replace("dot_", ".", 1) if entry.name.startswith("dot_") else entry.name
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _files(entry, to / name, values)
        else:
            text = entry.read_text(encoding="utf-8")
            for key, value in values.items():
                text = text.replace(f"{{{key}}}", value)
            yield to / name, text
