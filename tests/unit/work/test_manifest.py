"""What a manifest says of a graph that its own facts know better than the recipe."""

from __future__ import annotations

from typing import Any

from qnnbuild.work.manifest import GraphFacts, manifest

INNER = "QNNExecutionProvider_QNN_1_1"
CONTEXT_PARTS = {"context_configs": {"context_priority": "high"}}
GRAPH: dict[str, Any] = {
    "graph": "vad",
    "variant": "",
    "precision": "fp16",
    "ranges": {},
    "source": {},
    "run_on": None,
    "run_alone": False,
    "prepared": "prepare/m/vad",
    "compiled": "context/m/vad@SM8750",
}
PROVENANCE: dict[str, Any] = {
    "prepare/m/vad": {"inputs": {"model": "5e"}},
    "context/m/vad@SM8750": {"tool": {}},
}


def run_of(run: dict[str, Any], **read_back: str) -> Any:
    report: dict[str, Any] = {"inputs": [], "outputs": [], "comparison": {}, "on_cpu": []}
    facts = GraphFacts(files=("vad.bin",), report=report, facts=read_back)
    params = {"toolchain": "qairt-2.40", "graphs": {"vad": {**GRAPH, "run": run}}}
    return manifest(params, {"vad": facts}, PROVENANCE)["graphs"]["vad"]["run"]


def test_settings_of_a_graph_are_told_for_the_name_that_it_has_in_the_binary() -> None:
    said: dict[str, Any] = {
        "htp": {},
        "extensions": {
            **CONTEXT_PARTS,
            "graph_configs": [{"graph_name": "vad", "graph_priority": "high"}],
        },
    }

    told = run_of(said, graph=INNER)

    assert told["extensions"] == {
        **CONTEXT_PARTS,
        "graph_configs": [{"graph_name": INNER, "graph_priority": "high"}],
    }
    assert run_of(said) == said


def test_settings_that_are_of_no_graph_stay_as_they_are() -> None:
    known: list[dict[str, Any]] = [{"htp": {}}, {"htp": {}, "extensions": CONTEXT_PARTS}]

    for said in known:
        assert run_of(said, graph=INNER) == said
