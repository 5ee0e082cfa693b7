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
BOM = "bom.cdx.json"
STATEMENT = "provenance.intoto.json"
PAPERS = (CARD, BOM, MANIFEST, STATEMENT)
"""What is written of a bundle when all else is there."""


def signatures_of(name: str) -> tuple[str, str]:
    """What signatures are called that are laid beside a file: a DSSE envelope, and minisign's."""
    return f"{name.removesuffix('.intoto.json')}.intoto.jsonl", f"{name}.minisig"


def take_files(run: Run, out: Path) -> None:
    """The recipe's more files, named as from the recipe's folder, and what exports made."""
    _take_exported(run, out)
    if "files" not in run.inputs:
        return
    start = f"{run.params['folder']}/"
    for name in tuple(files_below(run.inputs["files"])):
        inside = name.removeprefix(start)
        move(run.inputs["files"] / name, out, inside, f"'{name}'")


def _take_exported(run: Run, out: Path) -> None:
    """Named as the export's command does; what several commands make is there once."""
    folders = [folder for name, folder in run.inputs.items() if name.startswith("exported-")]
    found: dict[Path, Path] = {}
    for pattern in run.params.get("exported", ()):
        files = {path: folder for folder in folders for path in sorted(folder.glob(pattern))}
        files = {path: folder for path, folder in files.items() if path.is_file()}
        if not files:
            raise WorkError(
                f"the export made nothing for '{pattern}'",
                place="bundle.exported",
                hint="source: {export: {also: …}} has to name it, too",
            )
        found |= files
    for path, folder in found.items():
        name = path.relative_to(folder).as_posix()
        there = out / name
        if not there.is_file() or digest_file(there) != digest_file(path):
            move(path, out, name, f"'{name}', which the export made,")


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
    taken = {
        file.casefold(): file for file in (*files_below(out), *PAPERS, *signatures_of(STATEMENT))
    }
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
