"""How an app runs what the toolchain `ort` made: options of four kinds, as the runtime spells them.

None of them changes a binary, so they reach the bundle and no action before it. The runtime takes
nearly anything for one, seen with onnxruntime-qnn 2.7.0: an unknown mode is passed over in silence,
a latency beyond 32 bits is cut, and one that is no number ends the app.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qnnbuild.digest import Json
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.ort_options import BY_NAME, Kind

SETS = {
    "perf_mode": "qnn.perf_mode",
    "rpc_control_latency": "qnn.rpc_control_latency",
    "workload_type": "ep.dynamic.workload_type",
    "kvcache_rewind": "kvcache_rewind",
}
"""A recipe's key under `run:` → the option that it sets."""


def run_part(
    graph: Graph, provider_options: Mapping[str, str], run_options: Mapping[str, str] | None = None
) -> dict[str, Json]:
    """The manifest's `run` of a graph; `provider_options` are those of run-time scope.

    `run_options` are those that speak of files of the bundle.
    """
    # Genie takes over by itself
    backend = {} if graph.genie else {"backend_type": graph.backend}
    return {
        "provider_options": {**backend, **provider_options},
        "session_options": {"session.disable_cpu_ep_fallback": "1"} if graph.on_npu_alone else {},
        "run_options": {**dict(_said(graph, Kind.RUN)), **(run_options or {})},
        "dynamic_options": dict(_said(graph, Kind.DYNAMIC)),
    }


def run_problems(graph: Graph) -> Iterator[Problem]:
    """What the schema lets pass and would do nothing."""
    if graph.run.kvcache_rewind is not None and not graph.genie:
        yield Problem(
            message=f"kvcache_rewind is for models that Genie runs: '{graph.name}' is compiled "
            "for the HTP",
            at=graph.places.get("run.kvcache_rewind", graph.places.get("run")),
            hint="leave it out: a session on the HTP refuses it",
        )


def _said(graph: Graph, kind: Kind) -> Iterator[tuple[str, str]]:
    """Under the documented name and, where the library reads another, under that one too."""
    for key, name in SETS.items():
        value = getattr(graph.run, key)
        if value is None or BY_NAME[name].kind is not kind:
            continue
        yield name, str(value)
        if read_as := BY_NAME[name].read_as:
            yield read_as, str(value)
