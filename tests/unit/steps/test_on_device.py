"""The action that makes a folder for a phone, and who cannot have one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qnnbuild.actions.action import OutputOf
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    Bars,
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    Target,
    Verify,
)
from qnnbuild.model.sdk_runtime import phone_files, phone_part
from qnnbuild.model.sdks import Sdk
from qnnbuild.steps.on_device import on_device, problems
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.qairt import Qairt

CHIP = packaged_chips()["SM8750"]
QAIRT = Qairt(Sdk(name="qairt-2.40", root="sdk"))
GRAPH = Graph(
    name="enc",
    source=FileSource(file="m.onnx"),
    options={"qairt": {"htp": {"perf_profile": "burst"}}},  # type: ignore[dict-item] # parts
    verify=Verify(on_device=True, bars=Bars(min_sqnr_db=30.0)),
)
TARGET = Target(
    model="sense",
    variant="6",
    axes={},
    chip=CHIP,
    toolchain="qairt-2.40",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
)


def made(**more: OutputOf) -> Any:
    return on_device(
        TARGET,
        GRAPH,
        QAIRT,
        compiled="context/x",
        stem="enc",
        given={"samples": OutputOf(action="samples/x", output="feeds"), **more},
        name="on-device/x",
    )


def test_it_takes_what_ships_and_lands_beside_the_bundles() -> None:
    action = made(packages=OutputOf(action="packages/x", output="device"))

    assert action.lands == "on-device/sense/6/SM8750/enc"
    assert action.inputs["context"] == OutputOf(action="context/x", output="context")
    assert action.inputs["packages"] == OutputOf(action="packages/x", output="device")
    assert action.tools == ("qairt:qairt-2.40/phone/79", "package:numpy")
    assert action.params["folder"] == "/data/local/tmp/qnnbuild/sense-6-SM8750-enc"
    assert action.params["verdict"]["bars"] == {"min_sqnr_db": 30.0}
    assert action.params["device"]["htp"]["devices"][0]["cores"][0]["perf_profile"] == "burst"


def test_the_phone_gets_stub_and_skel_of_its_hexagon() -> None:
    assert phone_files(phone_part(81)) == (
        "bin/aarch64-android/qnn-net-run",
        "lib/aarch64-android/libQnnHtp.so",
        "lib/aarch64-android/libQnnSystem.so",
        "lib/aarch64-android/libQnnHtpNetRunExtensions.so",
        "lib/aarch64-android/libQnnHtpV81Stub.so",
        "lib/hexagon-v81/unsigned/libQnnHtpV81Skel.so",
    )


def test_a_toolchain_without_such_a_folder_says_what_does_the_same() -> None:
    (problem,) = problems(GRAPH, CHIP, OrtQnn())

    assert problem.message == "the toolchain ort makes no folder for a phone"
    assert problem.hint is not None
    assert "run.py --compare" in problem.hint
    assert [*problems(GRAPH, CHIP, QAIRT)] == []
    assert [*problems(replace(GRAPH, verify=Verify()), CHIP, OrtQnn())] == []
