"""DLCs of the stand-in: a ZIP of stored records with the graph's description and its weights."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.standin.tools.library_file import Model, UnreadableError
from tests.standin.tools.release import Release

GRAPH, WEIGHTS = "model.standin.json", "model.standin.tar"
HISTORY = "dlc.metadata.history"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)


def write(path: Path, model: Model, tool: str, release: Release) -> None:
    history = {"converter": tool, "version": release.build_id}
    records = {
        HISTORY: json.dumps(history).encode(),
        GRAPH: json.dumps(model.meta, sort_keys=True).encode(),
        WEIGHTS: model.weights,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, data in records.items():
            file.writestr(zipfile.ZipInfo(name, FIXED_TIME), data)


def read(path: Path) -> Model:
    try:
        with zipfile.ZipFile(path) as file:
            return Model(json.loads(file.read(GRAPH)), file.read(WEIGHTS))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
        raise UnreadableError(f"{path}: {problem}") from problem
