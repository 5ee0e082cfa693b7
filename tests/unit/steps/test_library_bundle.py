"""Bundles of libraries and archives, as pure data."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import OutputOf, SourceFiles
from qnnbuild.model.recipe import BundleOptions, Quantization
from qnnbuild.steps.archive import archive
from qnnbuild.steps.library_bundle import LibraryPart, library_bundle
from qnnbuild.steps.runtime import runtime
from tests.unit.steps.test_library import GRAPH, TARGET

SYSTEMS = {"x86_64-linux-clang": "library/m/x", "aarch64-android": "library/m/a"}
PART = LibraryPart(graph=GRAPH, prepared="prepare/m", converted="convert/m", systems=SYSTEMS)
SDK_TARGET = replace(TARGET, toolchain="qairt-2.40")


def test_libraries_are_taken_by_the_names_that_users_know() -> None:
    made = library_bundle([SDK_TARGET], [PART], license_text=None)

    stem = GRAPH.name
    assert made.inputs[f"library-{stem}-linux-x64"] == OutputOf(
        action="library/m/x", output="library"
    )
    assert made.inputs[f"facts-{stem}-android-aarch64"] == OutputOf(
        action="library/m/a", output="facts"
    )
    assert made.lands == f"{TARGET.model}/libraries"
    assert made.params["chips"] == []


def test_what_was_quantized_and_operators_of_ones_own_come_along() -> None:
    quantized = replace(GRAPH, quantization=Quantization())
    libraries = OutputOf(action="packages/m", output="device")
    part = replace(PART, graph=quantized, own_libraries={"": libraries})

    inputs = library_bundle([SDK_TARGET], [part], license_text=None).inputs

    stem = GRAPH.name
    assert inputs[f"quantization-{stem}"] == OutputOf(action="convert/m", output="quantization")
    assert inputs[f"packages-{stem}"] == libraries


def test_files_of_one_chip_are_not_for_all() -> None:
    several = [
        replace(SDK_TARGET, bundle=BundleOptions(files=("a.txt", f"{chip}.txt")))
        for chip in ("SM8550", "SM8750")
    ]

    made = library_bundle(several, [PART], license_text=None)

    assert made.inputs["files"] == SourceFiles(patterns=("a.txt",))


def test_info_knows_its_chip_or_its_system() -> None:
    said = replace(SDK_TARGET, bundle=BundleOptions(info={"chip": "{chip}", "num": "5s"}))
    bundle = library_bundle([said], [PART], license_text=None)

    of_chip = archive([said], bundle, "m-SM8750", chip="SM8750")
    plain = replace(said, bundle=BundleOptions(info={"num": "5s"}))
    of_system = archive([plain], bundle, "m-a", system="aarch64-android")

    assert of_chip.params["info"] == ["chip=SM8750", "num=5s"]
    assert of_system.params["info"] == ["num=5s", "target=android-aarch64"]
    assert (of_chip.lands, of_chip.params["kind"]) == ("archives/m-SM8750", "context")
    assert of_system.params["target"] == "android-aarch64"


def test_the_sdks_libraries_are_those_of_the_systems_and_generations() -> None:
    one = runtime(SDK_TARGET, "aarch64-android", [79, 73, 79], prepares=True)

    assert one.tools == (
        "qairt:qairt-2.40/runtime/aarch64-android/73+79/prepares", "package:pyelftools",
    )  # fmt: skip
    assert one.passes == ("QNNBUILD_SDK_2_40",)
    assert one.params["files"] == [
        "lib/aarch64-android/libQnnHtp.so",
        "lib/aarch64-android/libQnnSystem.so",
        "lib/aarch64-android/libQnnHtpPrepare.so",
        "lib/aarch64-android/libQnnHtpV73Stub.so",
        "lib/aarch64-android/libQnnHtpV79Stub.so",
        "lib/hexagon-v73/unsigned/libQnnHtpV73Skel.so",
        "lib/hexagon-v79/unsigned/libQnnHtpV79Skel.so",
    ]
