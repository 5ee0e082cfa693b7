"""Collects samples as the engine has it done: a prepared graph, files of the repo, one action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from qnnbuild.work.run import Run
from qnnbuild.work.samples_files import collect
from tests.graphs import model
from tests.working import run_work, written

ONE = model("g (float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }")
TWO = model("g (float[1, 4] x, int64[3] ids) => (float[1, 4] y) { y = Relu (x) }")

PARAMS: Mapping[str, Any] = {
    "patterns": ["calib"],
    "raw": {},
    "images": None,
    "random": None,
    "ranges": {},
    "at_least": 1,
    "at_most": None,
    "may_be_constant": [],
    "tell_random": True,
}
"""What collect gets for `calibration: calib`."""

X = np.asarray([[1.0, -2.0, 3.0, 0.5]], np.float32)
IDS = np.asarray([1, 2, 3], np.int64)


def repo(folder: Path) -> Path:
    """Where the user's files are."""
    (folder / "repo" / "calib").mkdir(parents=True, exist_ok=True)
    return folder / "repo"


def run_collect(folder: Path, graph: ModelProto = ONE, **params: Any) -> Run:
    inputs = {"model": written(graph, folder / "prepared")}
    if params.get("patterns", True):
        inputs["files"] = repo(folder)
    return run_work(
        collect,
        folder,
        params={**PARAMS, **params},
        inputs=inputs,
        outputs=("feeds", "report"),
    )


def report(folder: Path) -> Mapping[str, Any]:
    said: Mapping[str, Any] = json.loads((folder / "out/report/report.json").read_text("utf-8"))
    return said


def feeds(folder: Path) -> list[dict[str, Any]]:
    """The samples that were made, in order."""
    found = []
    for path in sorted((folder / "out" / "feeds").iterdir()):
        with np.load(path) as data:
            found.append({name: data[name] for name in data.files})
    return found


def save(path: Path, **arrays: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)


def save_npy(path: Path, array: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)


def save_raw(path: Path, array: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.asarray(array).tofile(path)
