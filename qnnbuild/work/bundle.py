"""The code of bundle actions: one folder with all that a user needs, described in its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.work.card import card
from qnnbuild.work.license_text import read_license
from qnnbuild.work.manifest import GraphFacts, manifest, manifest_text
from qnnbuild.work.run import Run, WorkError

LICENSE = "LICENSE.txt"
CARD = "README.md"
MANIFEST = "manifest.json"


def bundle(run: Run) -> None:
    """Contexts, facts, reports, licence and more files → output "bundle"."""
    out = run.outputs["bundle"]
    _take_contexts(run, out)
    graphs = {stem: _graph(run, stem) for stem in run.params["graphs"]}
    (out / LICENSE).write_text(_license(run), encoding="utf-8", newline="\n")
    _take_files(run, out)
    provenance = _json(run.inputs["provenance"] / "provenance.json")
    text = card(manifest(run.params, graphs, {}, provenance))
    (out / CARD).write_text(text, encoding="utf-8", newline="\n")
    files = {name: (digest_file(out / name), (out / name).stat().st_size) for name in _files(out)}
    text = manifest_text(manifest(run.params, graphs, files, provenance))
    (out / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


def _take_contexts(run: Run, out: Path) -> None:
    """Each context once, however many graphs have it in common."""
    for stem, graph in run.params["graphs"].items():
        if graph["context"] == stem:
            folder = run.inputs[f"context-{stem}"]
            for file in tuple(_files(folder)):
                _move(folder / file, out, file, f"the context of {graph['graph']}")


def _graph(run: Run, stem: str) -> GraphFacts:
    context = run.params["graphs"][stem]["context"]
    facts = _json(run.inputs[f"facts-{context}"] / f"{stem}.json")
    return GraphFacts(
        files=tuple(sorted(facts["files"])),
        report=_json(run.inputs[f"report-{stem}"] / "report.json"),
        facts=facts,
        verdict=_json_of(run, f"verdict-{stem}"),
        singles={
            chip: _json_of(run, f"verdict-{stem}-{chip}")
            for chip in run.params["graphs"][stem].get("singles", ())
        },
        quantization=_json_of(run, f"quantization-{stem}"),
    )


def _take_files(run: Run, out: Path) -> None:
    """The recipe's more files, named as from the recipe's folder."""
    if "files" not in run.inputs:
        return
    start = f"{run.params['folder']}/"
    for name in tuple(_files(run.inputs["files"])):
        inside = name.removeprefix(start)
        _move(run.inputs["files"] / name, out, inside, f"'{name}'")


def _move(path: Path, out: Path, name: str, what: str) -> None:
    """Names that differ in case only are one file where users may unpack the bundle."""
    taken = {file.casefold(): file for file in (*_files(out), CARD, MANIFEST)}
    if (own := taken.get(name.casefold())) is not None:
        raise WorkError(
            f"{what} would overwrite the bundle's own '{own}'",
            place="bundle.files",
            hint="give the file another name",
            exit_code=2,
        )
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    path.rename(out / name)


def _license(run: Run) -> str:
    spdx = run.params["license"]["spdx"]
    if "license" not in run.inputs:
        home = run.params["homepage"]
        told = (
            f"{run.params['model']} is licensed under {spdx}.\n\nSPDX-License-Identifier: {spdx}\n"
        )
        return told + (f"\nThe model's home: {home}\n" if home else "")
    folder = run.inputs["license"]
    (name,) = _files(folder)
    return read_license(folder / name, name, place="license.file")


def _files(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        names = (p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
        yield from sorted(names)


def _json_of(run: Run, name: str) -> Any:
    """The one file of an input that need not be there."""
    if name not in run.inputs:
        return None
    (file,) = _files(run.inputs[name])
    return _json(run.inputs[name] / file)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
