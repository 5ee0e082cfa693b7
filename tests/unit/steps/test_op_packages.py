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
    ExpectedFailure,
    FileSource,
    Graph,
    License,
    OpPackage,
    Target,
    Verify,
)
from qnnbuild.model.sdks import Sdk
from qnnbuild.planner import plan_of
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.qairt import Qairt

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


SOURCES = replace(
    PACKAGE, library=None, on_device={}, sources=("udo/MyAdd.cpp",), built_with="qairt-2.40"
)
SDK = Qairt(Sdk(name="qairt-2.40", root="sdk", ndk="ndk", hexagon="hexagon"))


def built(*chips: str) -> Plan:
    graph = replace(GRAPH, op_packages=(SOURCES,))
    targets = [replace(TARGET, graphs=(graph,), chip=CHIPS[name]) for name in chips]
    return plan_of(targets, {"ort": OrtQnn(), "qairt-2.40": SDK})


def test_an_sdk_builds_for_a_graph_of_ort():
    made = built("SM8750", "SM8650", "SM8550")

    assert [a.name for a in made if a.step in ("skeleton", "op-package")] == [
        "skeleton/own/own/MyAdd",
        "op-package/own/own/MyAdd/htp_x86",
        "op-package/own/own/MyAdd/htp_aarch64",
        "op-package/own/own/MyAdd/htp_v79",
        "op-package/own/own/MyAdd/htp_v75",
        "op-package/own/own/MyAdd/htp_v73",
    ]
    here = made["op-package/own/own/MyAdd/htp_x86"]
    assert here.inputs == {
        "skeleton": OutputOf(action="skeleton/own/own/MyAdd", output="skeleton"),
        "sources": SourceFiles(patterns=("udo/MyAdd.cpp",)),
    }
    assert here.tools == ("qairt:qairt-2.40/op-package", "package:pyelftools")
    assert here.passes == ("QNNBUILD_SDK_2_40",)


def test_what_is_built_is_checked_and_ships_like_what_comes_built():
    made = built("SM8750")

    checked = made["packages/own/own"]
    assert checked.inputs == {
        "files": SourceFiles(patterns=("udo/MyAdd.xml",)),
        "built-MyAdd": OutputOf(action="op-package/own/own/MyAdd/htp_x86", output="library"),
    }
    assert checked.outputs == ("here", "operators")
    assert made["context/own/own@SM8750"].params["op_packages"] == (
        "MyAdd:./libQnnMyAdd.so:Provide:CPU"
    )
    inputs = made["bundle/own@SM8750"].inputs
    assert {name: inputs[name] for name in inputs if name.startswith("packages")} == {
        f"packages-own-{number}": OutputOf(
            action=f"op-package/own/own/MyAdd/{target}", output="library"
        )
        for number, target in enumerate(("htp_aarch64", "htp_v79"))
    }


def test_an_operator_that_fails_on_a_chip_has_nothing_built_for_its_device():
    failing = replace(
        GRAPH,
        op_packages=(SOURCES,),
        expect_failure=ExpectedFailure(reason="it crashes"),
        verify=Verify(chips=("none",)),
    )
    targets = [replace(TARGET, graphs=(failing,))]
    made = plan_of(targets, {"ort": OrtQnn(), "qairt-2.40": SDK})

    assert [a.name for a in made if a.step == "op-package"] == ["op-package/own/own/MyAdd/htp_x86"]


def test_libraries_for_any_chip_and_folders_for_phones_have_what_was_built_for_the_device():
    graph = replace(
        GRAPH,
        op_packages=(SOURCES,),
        options={"qairt": {"library": {"targets": ["aarch64-android"]}}},  # type: ignore[dict-item]
        verify=Verify(on_device=True),
    )
    targets = [
        replace(TARGET, graphs=(graph,), chip=CHIPS[name], toolchain="qairt-2.40")
        for name in ("SM8750", "SM8650")
    ]
    made = plan_of(targets, {"ort": OrtQnn(), "qairt-2.40": SDK})

    def of_device(name: str) -> list[str]:
        inputs = made[name].inputs
        taken = [one for at, one in inputs.items() if at.startswith("packages")]
        assert all(isinstance(one, OutputOf) and one.output == "library" for one in taken)
        return [one.action.rpartition("/")[2] for one in taken if isinstance(one, OutputOf)]

    assert of_device("bundle/own/libraries") == ["htp_aarch64", "htp_v79", "htp_v75"]
    assert of_device("on-device/own/own@SM8750") == ["htp_aarch64", "htp_v79"]
    assert of_device("on-device/own/own@SM8650") == ["htp_aarch64", "htp_v75"]
