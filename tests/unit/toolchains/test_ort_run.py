"""What an app gives the runtime, and what of a recipe would do nothing there."""

from __future__ import annotations

from dataclasses import fields

import pytest

from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import FileSource, Graph, RunOptions
from qnnbuild.model.schemas import recipe_schema
from qnnbuild.toolchains.ort_options import BY_NAME
from qnnbuild.toolchains.ort_run import SETS, run_part
from qnnbuild.toolchains.ortqnn import OrtQnn

AT = Span(file="recipes/vad.yaml", line=9, column=12)


def graph(cpu_fallback: str = "refuse", **run: str | int) -> Graph:
    return Graph(
        name="vad",
        source=FileSource(file="vad.onnx"),
        cpu_fallback=cpu_fallback,
        run=RunOptions(**run),  # type: ignore[arg-type]  # each test gives one in its type
        places={f"run.{name}": AT for name in run},
    )


def test_without_a_word_there_is_the_backend_and_no_way_to_the_cpu():
    assert run_part(graph(), {}) == {
        "provider_options": {"backend_type": "htp"},
        "session_options": {"session.disable_cpu_ep_fallback": "1"},
        "run_options": {},
        "dynamic_options": {},
    }


def test_a_graph_that_may_use_the_cpu_may_use_it_in_an_app_too():
    assert run_part(graph("allow"), {})["session_options"] == {}


@pytest.mark.parametrize(
    ("given", "kind", "wanted"),
    [
        (
            {"perf_mode": "burst"},
            "run_options",
            {"qnn.perf_mode": "burst", "qnn.htp_perf_mode": "burst"},
        ),
        ({"rpc_control_latency": 100}, "run_options", {"qnn.rpc_control_latency": "100"}),
        ({"rpc_control_latency": 0}, "run_options", {"qnn.rpc_control_latency": "0"}),
        ({"kvcache_rewind": 0}, "dynamic_options", {"kvcache_rewind": "0"}),
        (
            {"workload_type": "Efficient"},
            "dynamic_options",
            {"ep.dynamic.workload_type": "Efficient"},
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
def test_an_option_is_spelled_as_the_runtime_has_it(given, kind, wanted):
    assert run_part(graph(**given), {})[kind] == wanted


def test_every_key_of_run_goes_somewhere():
    keys = {field.name for field in fields(RunOptions)}

    assert SETS.keys() == keys
    assert {key: BY_NAME[name].recipe for key, name in SETS.items()} == {
        key: f"run.{key}" for key in keys
    }
    assert recipe_schema().part("graphs", "vad", "run").rules["properties"].keys() == keys


def test_a_run_knows_the_same_modes_as_a_provider():
    modes = recipe_schema().part("graphs", "vad", "run", "perf_mode").rules["enum"]

    assert tuple(modes) == BY_NAME["htp_performance_mode"].values


def test_what_only_genie_reads_is_refused_for_a_graph_of_the_htp():
    chip = packaged_chips()["SM8750"]
    found = [(p.message, p.at, p.hint) for p in OrtQnn().problems(graph(kvcache_rewind=0), chip)]

    assert found == [
        (
            "kvcache_rewind is for models that Genie runs: 'vad' is compiled for the HTP",
            AT,
            "leave it out: a session on the HTP refuses it",
        )
    ]


def test_graphs_that_only_run_in_other_ways_are_one_graph():
    assert graph(perf_mode="burst") == graph(perf_mode="balanced")
