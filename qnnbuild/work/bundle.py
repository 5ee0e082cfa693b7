"""The code of bundle actions: one folder with all that a user needs, described in its manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qnnbuild.work import run_bundle
from qnnbuild.work.bundle_files import (
    LICENSE,
    files_below,
    json_of,
    license_text,
    move,
    read_json,
    take_files,
    take_packages,
    take_runtime,
)
from qnnbuild.work.lora import take_adapters
from qnnbuild.work.manifest import GraphFacts, manifest
from qnnbuild.work.on_cpu import accounted
from qnnbuild.work.papers import write_papers
from qnnbuild.work.run import Run

RUN = "run.py"
ITS_OPTIONS = re.compile(r"^(RUN: .*) = \{\}", re.MULTILINE)


def bundle(run: Run) -> None:
    """Contexts, facts, reports, licence and more files → output "bundle"."""
    out = run.outputs["bundle"]
    _take_contexts(run, out)
    take_packages(run, out)
    graphs = {stem: _graph(run, stem, out) for stem in run.params["graphs"]}
    (out / LICENSE).write_text(license_text(run), encoding="utf-8", newline="\n")
    if any(name.endswith(".onnx") for graph in graphs.values() for name in graph.files):
        (out / RUN).write_text(_program(run), encoding="utf-8", newline="\n")
    take_files(run, out)
    take_runtime(run, out)
    provenance = read_json(run.inputs["provenance"] / "provenance.json")
    write_papers(manifest(run.params, graphs, provenance), out)


def _take_contexts(run: Run, out: Path) -> None:
    """Each context once, however many graphs have it in common."""
    for stem, graph in run.params["graphs"].items():
        if graph["context"] == stem:
            folder = run.inputs[f"context-{stem}"]
            for file in tuple(files_below(folder)):
                move(folder / file, out, file, f"the context of {graph['graph']}")


def _graph(run: Run, stem: str, out: Path) -> GraphFacts:
    context = run.params["graphs"][stem]["context"]
    facts = read_json(run.inputs[f"facts-{context}"] / f"{stem}.json")
    return GraphFacts(
        files=(*sorted(facts["files"]), *take_adapters(run, stem, out)),
        report=read_json(run.inputs[f"report-{stem}"] / "report.json"),
        facts=facts,
        verdict=json_of(run, f"verdict-{stem}"),
        singles={
            chip: json_of(run, f"verdict-{stem}-{chip}")
            for chip in run.params["graphs"][stem].get("singles", ())
        },
        quantization=json_of(run, f"quantization-{stem}"),
        **_on_cpu(run, stem, facts),
    )


def _program(run: Run) -> str:
    """run.py: the same for every bundle but for the options that its graphs run with."""
    options = {name: graph["run"] for name, graph in run.params["graphs"].items()}
    written = json.dumps(options, indent=4, sort_keys=True)  # texts only: Python reads it, too
    text = Path(run_bundle.__file__).read_text(encoding="utf-8")
    return ITS_OPTIONS.sub(lambda found: f"{found[1]} = {written}", text, count=1)


def _on_cpu(run: Run, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the CPU runs of a graph, where an op trace tells; both sources have to say the same."""
    if f"trace-{name}" not in run.inputs:
        return {}
    trace = read_json(run.inputs[f"trace-{name}"] / "op_trace.json")
    nodes, differs = accounted(facts["cpu_nodes"], trace["on_cpu"])
    if differs:
        count = "1 node" if len(differs) == 1 else f"{len(differs)} nodes"
        told = ", ".join(f"{o['node']} ({o['operator']}), only in {o['only_in']}" for o in differs)
        run.warn(
            f"op trace and ctx.onnx of '{name}' differ in {count} on the CPU: {told}", place="graph"
        )
    return {"on_cpu": nodes, "on_cpu_differs": differs}
