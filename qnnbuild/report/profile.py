"""Times of layers by the model's own node names, most expensive first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qnnbuild.formats.chrome_trace import ChromeTraceFacts
from qnnbuild.formats.profile_csv import Layer, ProfileFacts


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """One QNN operator, and the nodes of the model that it computes."""

    nodes: tuple[str, ...]  # none: the runtime's own, or it is not told
    operator: str  # its name
    unit: str
    mean: float  # over all runs
    share: float  # of all layers together, 0 to 1


def profile_rows(
    layers: Iterable[Layer], names: Mapping[str, Sequence[str]] | None = None
) -> list[ProfileRow]:
    """`names`: QNN operator → nodes in the user's words, as `names_of` has them of an op trace.

    Without, the nodes that the profile itself tells are taken: those of ONNX Runtime.
    """
    layers = list(layers)
    total = sum(layer.mean for layer in layers)
    rows = [
        ProfileRow(
            nodes=tuple((names or {}).get(layer.name, layer.nodes)),
            operator=layer.name,
            unit=layer.unit,
            mean=layer.mean,
            share=layer.mean / total if total else 0.0,
        )
        for layer in layers
    ]
    return sorted(rows, key=lambda row: -row.mean)


def profile_told(
    name: str, facts: ProfileFacts | ChromeTraceFacts, rows: Iterable[ProfileRow]
) -> dict[str, Any]:
    """One file as the report has it; `name` is the file's."""
    if isinstance(facts, ProfileFacts):
        whole = [
            {"what": one.name, "unit": one.unit, "mean": one.mean, "runs": len(one.values)}
            for one in facts.whole
        ]
    else:
        whole = [{"what": "first to last", "unit": facts.unit, "mean": facts.span, "runs": 1}]
    return {
        "file": name,
        "kind": facts.kind,
        "whole": whole,
        "rows": [asdict(row) for row in rows],
    }


def names_of(traced: Mapping[str, Any]) -> dict[str, list[str]]:
    """QNN operator → the user's nodes, out of what op_trace.json says."""
    names: dict[str, list[str]] = {}
    for node in traced["nodes"]:
        for made in node["qnn"]:
            names.setdefault(made["name"], []).append(node["node"])
    return names
