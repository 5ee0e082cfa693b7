"""The model card in a bill of materials: what goes in and comes out, and how good the numbers are.

Its form is CycloneDX's `modelCard`: texts, so that numbers are written as the README.md has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qnnbuild.work.markdown import shape_text

Manifest = Mapping[str, Any]

MEASURES = {"sqnr_db": "SQNR (dB)", "max_abs": "largest error", "cosine": "cosine similarity"}
"""What a verified binary is measured by, in words."""


def model_card(manifest: Manifest) -> dict[str, Any]:
    """`manifest` as in the bundle; its graphs' inputs, outputs, precisions and measures."""
    graphs = manifest["graphs"]
    card: dict[str, Any] = {
        "modelParameters": {
            "modelArchitecture": ", ".join(_graph(*one) for one in graphs.items()),
            "inputs": [{"format": text} for text in _borders(graphs, "inputs")],
            "outputs": [{"format": text} for text in _borders(graphs, "outputs")],
        },
        "properties": [
            {"name": f"qnnbuild:{what}:{stem}", "value": said}
            for stem, graph in graphs.items()
            for what, said in _properties(graph)
        ],
    }
    if metrics := list(_metrics(graphs)):
        card["quantitativeAnalysis"] = {"performanceMetrics": metrics}
    return card


def _graph(stem: str, graph: Mapping[str, Any]) -> str:
    return f"{stem} in {graph['precision']}"


def _borders(graphs: Mapping[str, Any], way: str) -> Iterator[str]:
    for stem, graph in graphs.items():
        for one in graph[way]:
            layout = f" {one['layout']}" if one.get("layout") else ""
            shape = shape_text(one["shape"])
            yield f"{stem}: {one['name']} {one['dtype']} {shape}{layout}"


def _properties(graph: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "precision", graph["precision"]
    for width, count in sorted(_nodes(graph["quantization"] or {})):
        yield f"quantized_nodes.{width}", str(count)
    if graph["on_cpu"]:
        yield "on_cpu", str(len(graph["on_cpu"]))


def _nodes(quantized: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """How many nodes compute in which width, where the quantizer tells it."""
    nodes = quantized.get("nodes")
    if isinstance(nodes, Mapping):
        yield from nodes.items()


def _metrics(graphs: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for stem, graph in graphs.items():
        for output, found in graph["comparison"].get("outputs", {}).items():
            where = f"{stem}: {output}, as it was compiled, on the CPU against the original"
            yield _metric("SQNR (dB)", found.get("sqnr_db"), where)
        singles = graph.get("verified_singles", {})
        each = [{"on": chip, **one} for chip, one in singles.items()]
        for one in each or [graph["verified"]]:
            if one:
                yield from _verified(stem, one)


def _verified(stem: str, verified: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for output, found in verified["outputs"].items():
        where = f"{stem}: {output}, the binary of {verified['on']} on the host's emulator"
        for what, words in MEASURES.items():
            if found.get(what) is not None:
                yield _metric(words, found[what], where)
    for measure, found in verified["metrics"].items():
        for what, value in sorted(found.items()):
            yield _metric(f"{measure}: {what}", value, f"{stem}: the binary of {verified['on']}")


def _metric(kind: str, value: Any, where: str) -> dict[str, str]:
    said = f"{value:.4g}" if isinstance(value, float | int) else "exact"
    return {"type": kind, "value": said, "slice": where}
