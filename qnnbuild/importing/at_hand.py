"""The files that a script names, as far as they are on this disk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import read_onnx
from qnnbuild.importing.carried import Place
from qnnbuild.importing.described import braces_doubled
from qnnbuild.importing.holes import cleaned, is_known

MOST_BYTES = 1 << 20


class Folder:
    """Where a script lies, seen from the folder of the recipe that is to be."""

    def __init__(self, recipes: Path, scripts: Path) -> None:
        self.recipes, self.scripts = recipes, scripts.resolve()

    def locate(self, path: str) -> str | None:
        """The file as the recipe names it; None when it is not in the repo."""
        found = self._file(path)
        if found is None or not found.is_relative_to(self.recipes.parent):
            return None
        return braces_doubled(os.path.relpath(found, self.recipes))

    def find(self, path: str) -> tuple[str, Place] | None:
        """A small text."""
        found = self._file(path)
        if found is None or found.stat().st_size > MOST_BYTES:
            return None
        with found.open("rb") as file:
            data = file.read(MOST_BYTES)
        text = cleaned(data.decode(errors="replace"))
        return text, Place(os.path.relpath(found), 1)

    def shapes(self, path: str) -> Mapping[str, Sequence[int | str]] | None:
        """Of the inputs of an ONNX file."""
        found = self._file(path)
        if found is None:
            return None
        try:
            facts = read_onnx(mapped(found))
        except FormatError:
            return None
        return {one.name: one.shape for one in facts.inputs}

    def _file(self, path: str) -> Path | None:
        if not path or not is_known(path) or "\0" in path:
            return None
        found = Path(os.path.normpath(self.scripts / path))
        return found if found.is_file() else None
