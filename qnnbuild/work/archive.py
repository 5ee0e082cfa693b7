"""The code of archives: a bundle as one file, the same bytes wherever and whenever it is packed."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.work.bundle_files import (
    LICENSE,
    MANIFEST,
    PAPERS,
    STATEMENT,
    files_below,
    read_json,
)
from qnnbuild.work.manifest import manifest_text
from qnnbuild.work.papers import write_papers
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.statement import statement

LICENSE_INSIDE, INFO = "LICENSE", "info.txt"
"""As users know them."""

LEVEL = 9
TIME = 315532800
"""The first second of 1980: tools warn of files from 1970, and zip files know no earlier time."""

FOLDER = Path("packed")
RUNTIME = "qnn"
"""The folder with libraries of the SDK, below it by the system."""


def archive(run: Run) -> None:
    """Input "bundle" → output "archive": `<name>.tar.bz2`, its manifest and its statement.

    `params`: name, kind (context or library), target (None: all), info (lines of info.txt).
    """
    name, out = run.params["name"], run.outputs["archive"]
    inside = FOLDER / name
    told = read_json(run.inputs["bundle"] / MANIFEST)
    _lay_out(run, inside)
    told = write_papers(_manifest(run.params, told), inside)
    packed = out / f"{name}.tar.bz2"
    pack(inside, packed)
    beside = {
        "archive": {"name": name, "kind": run.params["kind"], "target": run.params["target"]},
        **{key: told[key] for key in ("model", "variants", "chips", "license")},
        "toolchain": {"name": told["toolchain"]["name"]},
        "files": {packed.name: {"sha256": digest_file(packed), "bytes": packed.stat().st_size}},
        "members": told["files"],
    }
    (out / MANIFEST).write_text(manifest_text(beside), encoding="utf-8", newline="\n")
    subjects = {name: digest_file(out / name) for name in (packed.name, MANIFEST)}
    text = statement(told, subjects)
    (out / STATEMENT).write_text(text, encoding="utf-8", newline="\n")


def pack(folder: Path, to: Path) -> None:
    """`folder` with all below it: sorted, of nobody, of no time."""
    with tarfile.open(to, "w:bz2", compresslevel=LEVEL, format=tarfile.PAX_FORMAT) as made:
        for path in (folder, *sorted(folder.rglob("*"))):
            member = tarfile.TarInfo(path.relative_to(folder.parent).as_posix())
            member.mtime = TIME
            if path.is_dir():
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                made.addfile(member)
                continue
            member.mode, member.size = 0o644, path.stat().st_size
            with path.open("rb") as data:
                made.addfile(member, data)


def _lay_out(run: Run, inside: Path) -> None:
    """The bundle's files under the names of the archive; card and manifest are written anew."""
    bundle = run.inputs["bundle"]
    inside.mkdir(parents=True)
    if lines := run.params["info"]:
        (inside / INFO).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name in tuple(files_below(bundle)):
        if name in PAPERS:  # written anew
            continue
        new = _name_inside(name, read_json(bundle / MANIFEST), run.params["target"])
        if new is None:
            continue
        taken = {file.casefold() for file in (*files_below(inside), *PAPERS)}
        if new.casefold() in taken:
            raise WorkError(
                f"'{name}' would overwrite the archive's own '{new}'",
                place="bundle.files",
                hint="give the file another name",
                exit_code=2,
            )
        (inside / new).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).rename(inside / new)


def _name_inside(name: str, manifest: Mapping[str, Any], target: str | None) -> str | None:
    """None for what is of another system."""
    if name == LICENSE:
        return LICENSE_INSIDE
    if target is not None and name.startswith(f"{RUNTIME}/"):
        return name if name.startswith(f"{RUNTIME}/{target}/") else None
    for system, file in _libraries(manifest):
        if name == file:
            return PurePosixPath(name).name if system == target else None
    return name


def _libraries(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for graph in manifest["graphs"].values():
        for target, one in graph.get("libraries", {}).items():
            yield target, one["file"]


def _manifest(params: Mapping[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """The bundle's, with what is another in the archive."""
    target = params["target"]
    graphs = {name: _graph(graph, target) for name, graph in told["graphs"].items()}
    archive = {"name": params["name"], "kind": params["kind"], "target": target}
    if target is not None and "sdk_libraries" in told:
        told["sdk_libraries"] = [one for one in told["sdk_libraries"] if one == target]
    return {**told, "graphs": graphs, "archive": archive}


def _graph(graph: dict[str, Any], target: str | None) -> dict[str, Any]:
    if target is None:
        return graph
    libraries = {
        name: {**one, "file": PurePosixPath(one["file"]).name}
        for name, one in graph["libraries"].items()
        if name == target
    }
    return {
        **graph,
        "libraries": libraries,
        "files": sorted(one["file"] for one in libraries.values()),
    }
