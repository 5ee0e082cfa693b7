"""manifest.json: what a bundle is, what it was made of, and by what. Pure; the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qnnbuild.digest import digest_json
from qnnbuild.work.lora import told_of
from qnnbuild.work.release import VERSION

MANIFEST_VERSION = 2
OF_GRAPHS = "graph_configs"
"""What of the file around the HTP's own is for graphs by their names."""


@dataclass(frozen=True, kw_only=True)
class GraphFacts:
    """What the actions of one graph left for the bundle."""

    files: tuple[str, ...]  # of the bundle
    report: Mapping[str, Any]  # prepare's
    facts: Mapping[str, Any]  # read back from the context
    verdict: Mapping[str, Any] | None = None  # on the binary that was run, see "run_on"
    singles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For a binary of several chips: the verdict on each chip's single binary."""
    quantization: Mapping[str, Any] | None = None
    on_cpu: Sequence[Mapping[str, Any]] | None = None  # with an op trace: {node, operator, reason}
    on_cpu_differs: Sequence[Mapping[str, Any]] = ()  # what only one source has, and which


def manifest(
    params: Mapping[str, Any],
    graphs: Mapping[str, GraphFacts],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """`params` are those of steps/bundle.py, graphs by the stem of their files.

    Its "files", with sha256 and size of each, are known when all of them are there.

    No dates, no timings, no folders of the machine.
    """
    return {
        "manifest_version": MANIFEST_VERSION,
        **made_by(params),
        **described(params),
        "toolchain": {"name": params["toolchain"], "tools": _tools(params, provenance)},
        "graphs": {
            name: _graph(params["graphs"][name], facts, provenance)
            for name, facts in graphs.items()
        },
        "files": {},
        "actions": dict(provenance),
    }


def made_by(params: Mapping[str, Any]) -> dict[str, Any]:
    """The release that tells all this, and the digest of what the recipe says of the bundle.

    That is the recipe as resolved: a comment in its file is no reason to make a bundle again.
    """
    return {
        "builder": {"name": "qnnbuild", "version": VERSION},
        "recipe": {"sha256": digest_json(params)},
    }


def described(params: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe says of a bundle. `sdk_libraries` are systems: folders below qnn/."""
    always = ("model", "variants", "description", "homepage", "license", "chips")
    return {name: params[name] for name in (*always, "sdk_libraries") if name in params}


def manifest_text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _tools(params: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, str]:
    """The tools that compiled, as measured; our own code stands with each action."""
    tools: dict[str, str] = {}
    for graph in params["graphs"].values():
        measured = provenance[graph["compiled"]]["tool"]
        tools |= {name: said for name, said in measured.items() if not name.startswith("code:")}
    return tools


def _graph(
    graph: Mapping[str, Any], facts: GraphFacts, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    onnx = next((name for name in facts.files if name.endswith(".onnx")), None)
    source_digest = provenance[graph["prepared"]]["inputs"]["model"]
    return {
        "graph": graph["graph"],
        "variant": graph["variant"],
        "onnx": onnx,
        "files": list(facts.files),
        "precision": graph["precision"],
        "inputs": [_input(one, graph["ranges"]) for one in facts.report["inputs"]],
        "outputs": facts.report["outputs"],
        # of the ONNX file and its side files: digest of {name: sha256}
        "source": {**graph["source"], "digest": source_digest},
        "comparison": facts.report["comparison"],
        "quantization": facts.quantization,
        # the binary of the chip "on" was run: this very one, or its like for another chip
        # "alone": as compiled alone with the same options, where no host runs what ships
        "verified": {"on": graph["run_on"], "alone": graph["run_alone"], **facts.verdict}
        if facts.verdict
        else _worst(facts),
        # no host runs a binary for several chips: these are about each chip's single one
        **({"verified_singles": dict(facts.singles)} if facts.singles else {}),
        # what an app gives the runtime: options of the provider, the session, each run, and dynamic
        "run": _run_of(graph["run"], facts),
        **told_of(graph),
        # of Qualcomm's SDK: the graph's name in the binary, and the words of its tools
        **({"sdk": {**graph["sdk"], **_name_in(facts)}} if "sdk" in graph else {}),
        "on_cpu": _on_cpu(facts),
        "on_cpu_differs": list(facts.on_cpu_differs),
        "context": dict(facts.facts),
        "prepared": graph["prepared"],
        "compiled": graph["compiled"],
    }


def _run_of(run: Mapping[str, Any], facts: GraphFacts) -> dict[str, Any]:
    """Settings of a graph count under its name in the binary."""
    around = run.get("extensions", {})
    if OF_GRAPHS not in around:
        return dict(run)
    entries = [
        {**one, "graph_name": facts.facts.get("graph", one["graph_name"])}
        for one in around[OF_GRAPHS]
    ]
    return {**run, "extensions": {**around, OF_GRAPHS: entries}}


def _name_in(facts: GraphFacts) -> dict[str, Any]:
    """As it was read out of the binary: with a DLC the plugin may have chosen it."""
    return {"graph": facts.facts["graph"]} if "graph" in facts.facts else {}


def _worst(facts: GraphFacts) -> dict[str, Any] | None:
    """Of the single binaries of several chips the verdict with the lowest SQNR."""
    if not facts.singles:
        return None
    chip = min(facts.singles, key=lambda name: _lowest(facts.singles[name]))
    return {"on": chip, "binary_of": "the chip alone", **facts.singles[chip]}


def _lowest(verdict: Mapping[str, Any]) -> float:
    found = [
        one["sqnr_db"] for one in verdict["outputs"].values() if one.get("sqnr_db") is not None
    ]
    return min(found, default=float("inf"))


def _input(told: Mapping[str, Any], ranges: Mapping[str, Any]) -> dict[str, Any]:
    """As prepare tells it, and where random numbers for it lie, if the recipe says so."""
    between = ranges.get(told["name"])
    return {**told, "range": between} if between else dict(told)


def _on_cpu(facts: GraphFacts) -> Any:
    """What the compiler did, where it tells; else what prepare foresaw."""
    if facts.on_cpu is not None:
        return list(facts.on_cpu)
    return facts.facts.get("cpu_nodes", facts.report["on_cpu"])
