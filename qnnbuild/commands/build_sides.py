"""What two builds are compared by: build folders, indexes and manifests as they lie on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from qnnbuild.engine.folder import INDEX, REPORT
from qnnbuild.engine.report_file import told_by
from qnnbuild.engine.small_file import read_json
from qnnbuild.errors import NothingMatches, RecipeError
from qnnbuild.report.diff import Manifest, Side, name_of
from qnnbuild.work.bundle_files import MANIFEST


def side(path: Path) -> Side:
    """One build, with its report where that lies beside the bundles."""
    folder = path if path.is_dir() else path.parent
    alone = path.is_file() and path.name == MANIFEST  # one bundle, which no report is about
    told = None if alone else told_by(folder / REPORT)
    files = _files(path)
    if not files and not told:  # of a build in which all failed there is a report only
        raise NothingMatches(f"{path} has no bundles", hint="a build folder, or its index.json")
    return Side(name=str(path), manifests=_manifests(files), told=told)


def told_side(folder: Path) -> Side | None:
    """What there is of a build whose folder may lack bundles or a report; None where both do."""
    told = told_by(folder / REPORT)
    index = folder / INDEX
    found = _manifests(_files(index)) if index.is_file() else {}
    return Side(name=str(folder), manifests=found, told=told) if found or told else None


def _files(path: Path) -> list[Path]:
    """The manifests: of a folder all that are below it, of an index those that it lists."""
    if path.is_dir():
        return [file for file in sorted(path.rglob(MANIFEST)) if not _is_packed(file)]
    if not path.is_file():
        raise NothingMatches(f"no such file or folder: {path}")
    content = _read(path)
    return list(_listed(path, content)) if "index_version" in content else [path]


def _manifests(files: Iterable[Path]) -> dict[str, Manifest]:
    return {name_of(manifest): manifest for manifest in map(_manifest, files)}


def _listed(index: Path, content: Any) -> Iterator[Path]:
    for models in content["chips"].values():
        for variants in models.values():
            for bundle in variants.values():
                yield index.parent / bundle["path"] / MANIFEST
    for variants in content.get("libraries", {}).values():
        for bundles in variants.values():
            yield from (index.parent / one["path"] / MANIFEST for one in bundles)


def _is_packed(path: Path) -> bool:
    """Whether it is of an archive, whose bundle has one of its own."""
    return "archive" in _read(path) and "graphs" not in _read(path)


def _manifest(path: Path) -> Manifest:
    if not path.is_file():
        raise NothingMatches(f"no such file: {path}", hint="the index lists it: build it again")
    content: Manifest = _read(path)
    if "manifest_version" not in content:
        raise RecipeError(f"{path} is no bundle's manifest")
    return content


def _read(path: Path) -> Any:
    try:
        content = read_json(path)
    except (ValueError, RecursionError) as error:  # no JSON, or no text at all
        raise RecipeError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{path} is no bundle's manifest and no index")
    return content
