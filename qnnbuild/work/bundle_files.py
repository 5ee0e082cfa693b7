"""Files of bundles: what a recipe adds, the licence, and names that may not meet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.work.license_text import read_license
from qnnbuild.work.run import Run, WorkError

LICENSE = "LICENSE.txt"
CARD = "README.md"
MANIFEST = "manifest.json"


def take_files(run: Run, out: Path) -> None:
    """The recipe's more files, named as from the recipe's folder."""
    if "files" not in run.inputs:
        return
    start = f"{run.params['folder']}/"
    for name in tuple(files_below(run.inputs["files"])):
        inside = name.removeprefix(start)
        move(run.inputs["files"] / name, out, inside, f"'{name}'")


def take_exported(run: Run, out: Path) -> None:
    """Files of the sources' commands, named as from the ONNX file's folder.

    Commands of several graphs may write the same file.
    """
    folders = [run.inputs[name] for name in sorted(run.inputs) if name.startswith("exported-")]
    for pattern in run.params.get("exported", ()):
        found = [(top, file) for top in folders for file in sorted(top.glob(pattern))]
        if not found:
            raise WorkError(
                f"the source's command wrote nothing that '{pattern}' matches",
                place="exported",
                hint="also: of the source names what is kept of what it writes",
                exit_code=2,
            )
        for top, file in found:
            _take_exported(run, out, top, file)


def _take_exported(run: Run, out: Path, top: Path, file: Path) -> None:
    if not file.is_file():
        return
    start = f"{run.params['exported_from']}/"
    name = file.relative_to(top).as_posix()
    inside = name.removeprefix(start)
    there = out / inside
    if not there.is_file() or digest_file(there) != digest_file(file):
        move(file, out, inside, f"'{name}'")


def take_packages(run: Run, out: Path) -> None:
    """Libraries of operators of the user's own; what several graphs have is there once."""
    for name, folder in run.inputs.items():
        if name.startswith("packages-"):
            for file in tuple(files_below(folder)):
                if not (out / file).exists() or digest_file(out / file) != digest_file(
                    folder / file
                ):
                    move(folder / file, out, file, f"the library '{file}'")


def take_runtime(run: Run, out: Path) -> None:
    """Libraries of the SDK, in folders of their own below qnn/."""
    for name in sorted(run.inputs):
        if name.startswith("runtime-"):
            folder = run.inputs[name]
            for file in tuple(files_below(folder)):
                move(folder / file, out, file, f"the SDK's '{file}'")


def move(path: Path, out: Path, name: str, what: str) -> None:
    """Names that differ in case only are one file where users may unpack the bundle."""
    taken = {file.casefold(): file for file in (*files_below(out), CARD, MANIFEST)}
    if (own := taken.get(name.casefold())) is not None:
        raise WorkError(
            f"{what} would overwrite the bundle's own '{own}'",
            place="bundle.files",
            hint="give the file another name",
            exit_code=2,
        )
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    path.rename(out / name)


def license_text(run: Run) -> str:
    spdx = run.params["license"]["spdx"]
    if "license" not in run.inputs:
        home = run.params["homepage"]
        told = (
            f"{run.params['model']} is licensed under {spdx}.\n\nSPDX-License-Identifier: {spdx}\n"
        )
        return told + (f"\nThe model's home: {home}\n" if home else "")
    folder = run.inputs["license"]
    (name,) = files_below(folder)
    return read_license(folder / name, name, place="license.file")


def files_below(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        names = (p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
        yield from sorted(names)


def json_of(run: Run, name: str) -> Any:
    """The one file of an input that need not be there."""
    if name not in run.inputs:
        return None
    (file,) = files_below(run.inputs[name])
    return read_json(run.inputs[name] / file)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
