"""Where the packages of the user's own operators stand in a plan."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    OpPackage,
    Target,
    Verify,
)
from qnnbuild.planner import plan_of
from qnnbuild.toolchains.ortqnn import OrtQnn

CHIPS = packaged_chips()
AT = Span(file="recipes/own.yaml", line=7, column=5)
PACKAGE = OpPackage(
    op="MyAdd",
    interface="Provide",
    library="udo/x86/libMyAdd.so",
    on_device={"CPU": "udo/arm64/libMyAdd.so", "HTP": "udo/v79/libMyAdd.so"},
    xml="udo/MyAdd.xml",
)
GRAPH = Graph(
    name="own",
    source=FileSource(file="own.onnx"),
    op_packages=(PACKAGE,),
    verify=Verify(reference=("out.npz",)),
    dumps=("op_trace",),
    places={"op_packages": AT},
)
TARGET = Target(
    model="own",
    variant="",
    axes={},
    chip=CHIPS["SM8750"],
    toolchain="ort",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
)
HERE = OutputOf(action="packages/own/own", output="here")
TEXT = "MyAdd:./libMyAdd.so:Provide:CPU"


def plan(*chips: str, graph: Graph = GRAPH) -> Plan:
    targets = [replace(TARGET, graphs=(graph,), chip=CHIPS[name]) for name in chips]
    return plan_of(targets, {"ort": OrtQnn()})


def test_the_files_are_inputs_of_one_action_for_all_chips():
    made = plan("SM8750", "SM8650")
    action = made["packages/own/own"]

    assert action.inputs == {
        "files": SourceFiles(
            patterns=(
                "udo/x86/libMyAdd.so",
                "udo/MyAdd.xml",
                "udo/arm64/libMyAdd.so",
                "udo/v79/libMyAdd.so",
            )
        )
    }
    assert action.places["files"] == AT
    assert [a.name for a in made if a.step == "packages"] == ["packages/own/own"]


def test_what_compiles_runs_or_dumps_the_graph_takes_the_libraries():
    made = plan("SM8750")

    for name in ("context/own/own@SM8750", "verify/own/own@SM8750", "dump/own/own/op_trace@SM8750"):
        assert made[name].inputs["packages"] == HERE
        assert made[name].params["op_packages"] == TEXT


def test_prepare_knows_the_operators_and_not_the_libraries():
    inputs = plan("SM8750")["prepare/own/own"].inputs

    assert inputs["operators"] == OutputOf(action="packages/own/own", output="operators")
    assert "packages" not in inputs


def test_a_bundle_has_the_libraries_of_the_device_and_says_how_they_are_loaded():
    action = plan("SM8750")["bundle/own@SM8750"]
    graphs = action.params["graphs"]

    assert action.inputs["packages-own"] == OutputOf(action="packages/own/own", output="device")
    assert isinstance(graphs, dict)
    assert graphs["own"]["run"]["provider_options"]["op_packages"] == (
        "MyAdd:./op_packages/cpu/libMyAdd.so:Provide:CPU,"
        "MyAdd:./op_packages/htp/libMyAdd.so:Provide:HTP"
    )


def test_a_graph_without_any_has_none_of_it():
    made = plan("SM8750", graph=replace(GRAPH, op_packages=()))

    assert not [a.name for a in made if a.step == "packages"]
    assert not [a.name for a in made if "op_packages" in a.params]
