"""Runs the code of an action as the engine does: real copies in, folders out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from onnx import ModelProto

from qnnbuild.work.run import Run

PREPARE: Mapping[str, Any] = {
    "inputs": {},
    "outputs": [],
    "constants": {},
    "cast": {},
    "repairs": [],
    "simplify": True,
    "max_fold_bytes": 64 << 20,
    "fp16": True,
    "cpu_fallback": "refuse",
}
"""What prepare gets for a graph that the recipe says nothing about."""


def run_work(
    entry: Callable[[Run], None],
    folder: Path,
    *,
    params: Mapping[str, Any],
    inputs: Mapping[str, Path],
    outputs: tuple[str, ...],
) -> Run:
    """Copies each input folder, links followed, and calls `entry`; its WorkError comes through."""
    for name, source in inputs.items():
        shutil.copytree(source, folder / "in" / name)
    for name in outputs:
        (folder / "out" / name).mkdir(parents=True)
    run = Run(
        params=params,
        inputs={name: folder / "in" / name for name in inputs},
        outputs={name: folder / "out" / name for name in outputs},
    )
    entry(run)
    return run


def staged(path: Path, folder: Path) -> Path:
    """An ONNX file and its side files as the engine stages them: real files, its own name gone."""
    for file in sorted(path.parent.rglob("*")):
        if file.is_file() and (file == path or file.suffix != ".onnx"):
            to = folder / file.relative_to(path.parent)
            to = to.with_name("model.onnx") if file == path else to
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
    return folder


def written(model: ModelProto, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder
