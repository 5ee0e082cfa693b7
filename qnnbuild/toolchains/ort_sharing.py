"""Which graphs the plugin puts into one binary, as data with reasons.

Measured with onnxruntime-qnn 2.7.0 on two graphs with the same weights, for SM8750 and, the DMA
engine, for SM8850: an option of the second session alone changed no byte of the binary, the same
option of the first did, or did nothing in either. How hard the compiler tries, bf16 and monolithic
LSTMs count for each graph. So does VTCM, but of two graphs with different ones the emulator refuses
to run the first (error 1100).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph

OF_THE_BINARY: Mapping[str, str] = {
    "qnn_context_priority": "a binary has one priority",
    "vtcm_mb": "the emulator runs no graphs of different VTCM in one binary",
    "extended_udma": "a binary is made for one kind of DMA engine",
    "enable_htp_spill_fill_buffer": "a binary has one such buffer",
}
"""Options that cannot differ. All but VTCM the plugin takes from the first session, silently."""


def sharing_problems(
    graphs: Sequence[Graph], compiled_with: Sequence[Mapping[str, str]]
) -> Iterator[Problem]:
    """What keeps `graphs` out of one binary; `compiled_with` are their options, in order."""
    yield from (problem for graph in graphs for problem in _alone(graph))
    first, options = graphs[0], compiled_with[0]
    for graph, own in zip(graphs[1:], compiled_with[1:], strict=True):
        for name, why in OF_THE_BINARY.items():
            if own.get(name) == options.get(name):
                continue
            at = f"options.ort.{name}"
            shown = [(one.name, given.get(name, "left out")) for one, given in
                     ((first, options), (graph, own))]  # fmt: skip
            yield Problem(
                message=f"{name} has to be the same for graphs that share weights: {why}",
                at=graph.places.get(at) or first.places.get(at) or graph.places.get("graph"),
                facts=tuple(shown),
                hint=f"{name} for all of them, or context: {{share_weights: false}}",
            )


def _alone(graph: Graph) -> Iterator[Problem]:
    """What no binary of several can hold."""
    for key, is_so, why in (
        ("backend", graph.backend != "htp", "nothing is compiled ahead for it"),
        (
            "op_packages",
            bool(graph.op_packages),
            (
                "packages are a session's, and which one a shared binary asks could not be tried "
                "without one that works"
            ),
        ),
    ):
        if is_so:
            yield Problem(
                message=f"'{graph.name}' cannot share weights, because of {key}: {why}",
                at=graph.places.get(key, graph.places.get("graph")),
                hint="context: {share_weights: false}, or give this graph a recipe of its own",
            )
