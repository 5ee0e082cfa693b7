"""Which of QNN's backends runs a graph, and what of a recipe means nothing to another than the HTP.

What each can do on an x86-64 host was seen with onnxruntime-qnn 2.7.0: `saver` and `ir` work, and
record calls or write a DLC; `gpu` ends with QNN_BACKEND_ERROR_CANNOT_INITIALIZE, since it wants
an Adreno and its driver; `cpu` is not in the package ("libQnnCpu.so: cannot open shared object
file"). In both cases the plugin says so in its log only, and the session runs on ONNX Runtime's
CPU. No device was at hand: what is said of the GPU is from the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qnnbuild.errors import Problem, Span
from qnnbuild.model.precisions import QDQ, base_of
from qnnbuild.model.recipe import ContextOptions, Graph

HTP, GPU = "htp", "gpu"
GPU_PRECISIONS = ("fp32", "fp16", "w8", QDQ)
"""Floats of 32 or 16 bits, and weights in uint8 beside floats; so its documentation."""


@dataclass(frozen=True, kw_only=True)
class NoBackend:
    """One of QNN's own words that no bundle can be for."""

    why: str
    hint: str


NONE_OF_AN_APP = {
    "cpu": NoBackend(
        why="it is a reference for tests, and its library is in Qualcomm's SDK only, in no package "
        "that an app gets",
        hint="backend: htp with cpu_fallback: allow leaves nodes to ONNX Runtime's CPU",
    ),
    "saver": NoBackend(
        why="it writes calls down and runs nothing", hint="dumps: [saver] makes what it writes"
    ),
    "ir": NoBackend(
        why="it writes the graph down and runs nothing", hint="dumps: [dlc] makes what it writes"
    ),
}


def backend_problems(graph: Graph, context: ContextOptions) -> Iterator[Problem]:
    """A backend that runs no app, and for the GPU all that is about the HTP's compile or run."""
    if (none := NONE_OF_AN_APP.get(graph.backend)) is not None:
        yield Problem(
            message=f"no app runs on the backend '{graph.backend}': {none.why}",
            at=_at(graph, "backend"),
            hint=none.hint,
        )
    elif graph.backend == GPU:
        yield from _gpu_problems(graph, context)


def _gpu_problems(graph: Graph, context: ContextOptions) -> Iterator[Problem]:
    if base_of(graph.precision) not in GPU_PRECISIONS:
        yield Problem(
            message=f"'{graph.name}' cannot be {graph.precision} on the GPU: it calculates in "
            "floats",
            at=_at(graph, "precision"),
            hint="precision: fp16, fp32, w8 (weights in uint8), or qdq for a model that has them",
        )
    for key, why, hint in _NOTHING:
        if key in graph.places and getattr(graph, key):
            yield Problem(message=f"{key}: {why}", at=_at(graph, key), hint=hint)
    if said := _of_binaries(context):
        yield Problem(
            message=f"context: {{{said}}} says nothing of the GPU: no binary is compiled ahead",
            at=_at(graph, "backend"),
            hint="leave it out, or give this graph a recipe of its own",
        )
    if "verify" in graph.places and graph.verify.chips != ("none",):
        yield Problem(
            message=f"'{graph.name}' cannot be verified: a GPU starts on a device only",
            at=_at(graph, "verify"),
            hint="verify: {chips: none}",
        )


def _of_binaries(context: ContextOptions) -> str:
    told = {
        "embed": context.embed,
        "multi_soc": bool(context.chip_groups),
        "node_name_prefix": bool(context.node_name_prefix),
    }
    return ", ".join(f"{key}: …" for key, given in told.items() if given)


_NOTHING = (
    ("expect_failure", "nothing is compiled or run that could fail", "leave it out"),
    ("op_packages", "QNN takes operators of one's own for the HTP and the CPU", "backend: htp"),
    ("run", "these are words for the HTP", "leave it out"),
)


def _at(graph: Graph, key: str) -> Span | None:
    return graph.places.get(key, graph.places.get("backend", graph.places.get("graph")))
