from __future__ import annotations

from dataclasses import replace

import pytest

from qnnbuild.actions.action import OutputOf, Provenance, SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.recipe import (
    BundleOptions,
    Chip,
    ContextOptions,
    ExportSource,
    FileSource,
    Graph,
    HubSource,
    InputSpec,
    License,
    PypiSource,
    RunOptions,
    Target,
    UrlSource,
)
from qnnbuild.steps.bundle import Part, bundle, source_facts

SHA = "ab" * 32
CHIP = Chip(
    name="SM8750",
    marketing=("Snapdragon 8 Elite",),
    soc_model=69,
    arch=79,
    vtcm_mb=8,
    hvx_threads=6,
    fp16=True,
)
GRAPH = Graph(
    name="vad",
    source=PypiSource(pypi="silero-vad==6.2.3", member="m.onnx", sha256=SHA),
    inputs={"x": InputSpec(range=(0.0, 3.0)), "state": InputSpec(shape=(1, 8))},
    options={"ort": {"htp_performance_mode": "burst"}},
    run=RunOptions(perf_mode="high_performance"),
)
TARGET = Target(
    model="silero-vad",
    variant="",
    axes={},
    chip=CHIP,
    toolchain="ort",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
    recipe="recipes/silero-vad.yaml",
)
PART = Part(graph=GRAPH, stem="vad", prepared="prepare/x", compiled="context/x@SM8750")


def test_the_bundle_takes_what_the_chain_made_and_how_it_was_made():
    action = bundle([TARGET], [PART], license_text=None)

    assert action.inputs == {
        "provenance": Provenance(),
        "context-vad": OutputOf(action="context/x@SM8750", output="context"),
        "facts-vad": OutputOf(action="context/x@SM8750", output="facts"),
        "report-vad": OutputOf(action="prepare/x", output="report"),
    }
    assert action.lands == "silero-vad/SM8750"


def test_a_variant_is_a_folder_between():
    action = bundle([replace(TARGET, variant="10s")], [PART], license_text=None)

    assert action.lands == "silero-vad/10s/SM8750"


def test_the_licence_is_a_file_of_the_repo_or_came_with_the_source():
    member = OutputOf(action="fetch/silero-vad", output="license")
    with_file = replace(TARGET, license=License(spdx="MIT", file="recipes/LICENSE"))

    ours = bundle([with_file], [PART], license_text=None).inputs["license"]
    theirs = bundle([TARGET], [PART], license_text=member).inputs["license"]

    assert ours == SourceFiles(patterns=("recipes/LICENSE",))
    assert theirs == member


def test_options_for_the_run_time_reach_the_bundle_and_nothing_before_it():
    action = bundle([TARGET], [PART], license_text=None)

    assert action.params["graphs"]["vad"]["run"] == {  # type: ignore[index, call-overload]
        "provider_options": {"backend_type": "htp", "htp_performance_mode": "burst"},
        "session_options": {"session.disable_cpu_ep_fallback": "1"},
        "run_options": {
            "qnn.perf_mode": "high_performance",
            "qnn.htp_perf_mode": "high_performance",
        },
        "dynamic_options": {},
    }


def test_options_of_the_toolchain_ort_are_nothing_to_another_one():
    action = bundle([replace(TARGET, toolchain="mine")], [PART], license_text=None)

    assert action.params["graphs"]["vad"]["run"]["provider_options"] == {  # type: ignore[index, call-overload]
        "backend_type": "htp"
    }


def test_the_ranges_of_inputs_reach_the_bundle():
    action = bundle([TARGET], [PART], license_text=None)

    assert action.params["graphs"]["vad"]["ranges"] == {"x": [0.0, 3.0]}  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (FileSource(file="onnx/m.onnx"), {"file": "onnx/m.onnx"}),
        (
            UrlSource(url="https://me:pass@host.example/a/m.onnx?sig=1", sha256=SHA),
            {"url": "https://host.example/a/m.onnx", "sha256": SHA},
        ),
        (
            UrlSource(url="file:///home/me/m.zip", sha256=SHA, member="m.onnx"),
            {"url": "file:m.zip", "sha256": SHA, "member": "m.onnx"},
        ),
        (
            HubSource(hub="org/name", revision="0" * 40, member="m.onnx", sha256=SHA),
            {"hub": "org/name", "revision": "0" * 40, "member": "m.onnx", "sha256": SHA},
        ),
        (
            ExportSource(run=("python", "e.py"), needs=("e.py",), makes="m.onnx"),
            {"export": ["python", "e.py"], "makes": "m.onnx"},
        ),
    ],
)
def test_a_source_is_told_without_logins_and_folders_of_the_machine(source, told):
    assert source_facts(source) == told


def test_the_recipes_folder_counts_only_where_files_are_named_from_it():
    without = bundle([TARGET], [PART], license_text=None)
    some = replace(TARGET, bundle=BundleOptions(files=("recipes/words.txt",)))

    assert without.params["folder"] == ""
    assert bundle([some], [PART], license_text=None).params["folder"] == "recipes"


def test_files_and_the_licence_are_looked_for_where_the_recipe_names_them():
    at = {
        "license": Span(file="m.yaml", line=2, column=10),
        "license.file": Span(file="m.yaml", line=2, column=22),
        "bundle.files": Span(file="m.yaml", line=8, column=3),
    }
    places = bundle([replace(TARGET, places=at)], [PART], license_text=None).places

    assert (places["files"], places["license"]) == (at["bundle.files"], at["license.file"])
