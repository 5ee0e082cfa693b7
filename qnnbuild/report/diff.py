"""Two builds against each other, by their bundles' manifests. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Manifest = Mapping[str, Any]

SAME_DB = 0.05
"""A smaller step of SQNR is not told: two builds of one recipe are equal to the byte anyhow."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What makes the second build worse."""

    cpu: bool = True  # more nodes, or more of the multiply-adds, on the CPU
    sqnr_db: float | None = None  # a fall of more than this; None: it may fall


@dataclass(frozen=True, kw_only=True)
class Change:
    """`what` of a bundle, or of one graph in it. None where one side has nothing to say."""

    bundle: str  # MODEL[/VARIANT]@CHIP
    graph: str
    what: str
    before: Any
    after: Any
    worse: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "bundle": self.bundle,
            "graph": self.graph or None,
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "worse": self.worse,
        }


def name_of(manifest: Manifest) -> str:
    variants, chips = (
        "+".join(one["name"] for one in manifest[kind]) for kind in ("variants", "chips")
    )
    chips = chips or "libraries"
    return f"{manifest['model']}{'/' if variants else ''}{variants}@{chips}"


def diff(
    before: Mapping[str, Manifest], after: Mapping[str, Manifest], limits: Limits
) -> list[Change]:
    """All changes, by bundle and graph. Both sides are manifests by `name_of`."""
    found: list[Change] = []
    for name in sorted(before.keys() | after.keys()):
        if name not in after or name not in before:
            is_there = name in after
            found.append(
                Change(bundle=name, graph="", what="bundle", before=not is_there, after=is_there)
            )
            continue
        found += _bundle(name, before[name], after[name], limits)
    return found


def _bundle(name: str, old: Manifest, new: Manifest, limits: Limits) -> Iterator[Change]:
    sizes = [sum(file["bytes"] for file in one["files"].values()) for one in (old, new)]
    if sizes[0] != sizes[1]:
        yield Change(bundle=name, graph="", what="bytes", before=sizes[0], after=sizes[1])
    for graph in sorted(old["graphs"].keys() | new["graphs"].keys()):
        one, other = old["graphs"].get(graph), new["graphs"].get(graph)
        if one is None or other is None:
            yield Change(
                bundle=name, graph=graph, what="graph", before=one is not None,
                after=other is not None,
            )  # fmt: skip
            continue
        for what, first, second, worse in _graph(one, other, limits):
            yield Change(
                bundle=name, graph=graph, what=what, before=first, after=second, worse=worse
            )


Told = tuple[str, Any, Any, bool]


def _graph(old: Mapping[str, Any], new: Mapping[str, Any], limits: Limits) -> Iterator[Told]:
    if old["precision"] != new["precision"]:
        yield "precision", old["precision"], new["precision"], False
    widths = [(one.get("quantization") or {}).get("nodes") for one in (old, new)]
    if widths[0] != widths[1]:
        yield "nodes by bits", widths[0], widths[1], False
    yield from _on_the_cpu(old, new, limits)
    first, second = _sqnr(old), _sqnr(new)
    for output in sorted(first.keys() | second.keys()):
        a, b = first.get(output), second.get(output)
        if a is None or b is None:
            yield f"SQNR of {output}", a, b, False
        elif abs(a - b) >= SAME_DB:
            yield f"SQNR of {output}", a, b, limits.sqnr_db is not None and a - b > limits.sqnr_db


def _on_the_cpu(old: Mapping[str, Any], new: Mapping[str, Any], limits: Limits) -> Iterator[Told]:
    """Nodes by name; which ones they are tells more than how many."""
    before, after = _cpu_nodes(old), _cpu_nodes(new)
    if before != after:
        yield "CPU nodes", before, after, limits.cpu and len(after) > len(before)
    shares = [float(one["context"].get("cpu_share_of_multiply_adds") or 0.0) for one in (old, new)]
    if shares[0] != shares[1]:
        yield (
            "CPU share of multiply-adds",
            shares[0],
            shares[1],
            limits.cpu and shares[1] > shares[0],
        )


def _cpu_nodes(graph: Mapping[str, Any]) -> list[str]:
    return sorted(f"{node['node']} ({node['operator']})" for node in graph["on_cpu"])


def _sqnr(graph: Mapping[str, Any]) -> dict[str, float]:
    verified = graph.get("verified") or {}
    return {
        output: numbers["sqnr_db"]
        for output, numbers in verified.get("outputs", {}).items()
        if "sqnr_db" in numbers
    }
