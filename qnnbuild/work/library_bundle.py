"""The code of bundles of libraries: a folder for each system, described in a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qnnbuild.work.bundle_files import (
    LICENSE,
    json_of,
    license_text,
    move,
    read_json,
    take_files,
    take_packages,
    take_runtime,
)
from qnnbuild.work.manifest import MANIFEST_VERSION, described, made_by
from qnnbuild.work.papers import write_papers
from qnnbuild.work.run import Run

Told = Mapping[str, Any]


def bundle(run: Run) -> None:
    """Libraries, their facts, reports, licence and more files → output "bundle".

    `<target>/lib<graph>.so`, by the names that archives of libraries are known by.
    """
    out = run.outputs["bundle"]
    graphs = {stem: _graph(run, stem, told, out) for stem, told in run.params["graphs"].items()}
    take_packages(run, out)
    (out / LICENSE).write_text(license_text(run), encoding="utf-8", newline="\n")
    take_files(run, out)
    take_runtime(run, out)
    provenance = read_json(run.inputs["provenance"] / "provenance.json")
    write_papers(_manifest(run.params, graphs, provenance), out)


def _graph(run: Run, stem: str, told: Told, out: Path) -> dict[str, Any]:
    report = read_json(run.inputs[f"report-{stem}"] / "report.json")
    libraries = {target: _library(run, stem, target, out) for target in told["libraries"]}
    shown: Told = next((one.pop("border") for one in libraries.values() if "border" in one), {})
    return {
        "graph": told["graph"],
        "variant": told["variant"],
        "onnx": None,
        "files": sorted(one["file"] for one in libraries.values()),
        "precision": told["precision"],
        "inputs": report["inputs"],
        "outputs": report["outputs"],
        "source": told["source"],
        "comparison": report["comparison"],
        "quantization": json_of(run, f"quantization-{stem}"),
        "verified": None,
        "run": told.get("run", {}),
        "on_cpu": [],
        "context": {},
        "libraries": libraries,
        "prepared": told["prepared"],
        "sdk": {**told.get("sdk", {}), **shown},
    }


def _library(run: Run, stem: str, target: str, out: Path) -> dict[str, Any]:
    """What became of one library, and what is known of it."""
    facts = read_json(run.inputs[f"facts-{stem}-{target}"] / "library.json")
    built = run.inputs[f"library-{stem}-{target}"] / facts["file"]
    name = f"lib{stem}.so"
    move(built, out, f"{target}/{name}", f"the library of '{stem}'")
    return {
        "file": f"{target}/{name}",
        "system": facts["target"],
        "sdk_build": facts["sdk_build"],
        "page_bytes": facts["page_bytes"],
        **({"built_as": built.name} if built.name != name else {}),
        **({"border": facts["border"]} if "border" in facts else {}),
    }


def _manifest(params: Told, graphs: dict[str, Any], provenance: Told) -> dict[str, Any]:
    for stem, told in params["graphs"].items():
        digest = provenance[told["prepared"]]["inputs"]["model"]
        graphs[stem]["source"] = {**told["source"], "digest": digest}
    return {
        "manifest_version": MANIFEST_VERSION,
        **made_by(params),
        **described(params),
        "toolchain": {"name": params["toolchain"], "tools": dict(_tools(params, provenance))},
        "graphs": graphs,
        "files": {},
        "actions": dict(provenance),
    }


def _tools(params: Told, provenance: Told) -> Iterator[tuple[str, str]]:
    """What compiled the libraries, as measured."""
    for told in params["graphs"].values():
        for action in told["libraries"].values():
            for name, said in provenance[action]["tool"].items():
                if not name.startswith("code:"):
                    yield name, said
