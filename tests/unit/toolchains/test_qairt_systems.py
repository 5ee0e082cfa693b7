"""Which systems a graph gets libraries for, and what is missing for one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import FileSource, Graph
from qnnbuild.model.sdk_systems import ANDROID, CROSS, HOST, SYSTEMS
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.qairt import Qairt
from qnnbuild.toolchains.qairt_options import LIBRARY, data
from qnnbuild.toolchains.qairt_systems import PLACE, system_problems, systems_of

AT = Span(file="recipes/m.yaml", line=9, column=3)
UBUNTU, OE, QNX = "aarch64-ubuntu-gcc9.4", "aarch64-oe-linux-gcc11.2", "aarch64-qnx"
DECLARED = {UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": "/"}}
CHIP = packaged_chips()["SM8750"]


def graph(*systems: str, name: str = "model") -> Graph:
    options: Any = {"qairt": {"library": {"targets": list(systems)}}}
    places = {PLACE: AT}
    return Graph(name=name, source=FileSource(file="m.onnx"), options=options, places=places)


def sdk(cross: Mapping[str, Mapping[str, str]] | None = None, ndk: str | None = None) -> Sdk:
    return Sdk(name="qairt-2.40", root="sdk", ndk=ndk, cross=cross or {})


def test_the_systems_are_those_that_the_option_may_name() -> None:
    assert tuple(data().sections[LIBRARY]["targets"].values) == tuple(SYSTEMS)


def test_the_host_is_first_and_each_comes_once() -> None:
    assert [one.name for one in systems_of(graph(UBUNTU, HOST, ANDROID, UBUNTU))] == [
        HOST,
        UBUNTU,
        ANDROID,
    ]


@pytest.mark.parametrize(
    ("system", "hint"),
    [
        (UBUNTU, "cross: {aarch64-ubuntu-gcc9.4: FOLDER}"),
        (OE, "cross: {aarch64-oe-linux-gcc11.2: FOLDER}"),
        (QNX, "cross: {aarch64-qnx: {QNX_HOST: FOLDER, QNX_TARGET: FOLDER}}"),
    ],
)
def test_a_system_whose_compiler_is_not_declared_is_told(system: str, hint: str) -> None:
    (problem,) = system_problems(graph(system), sdk())

    assert problem.message == (
        f"a library for {system} needs a compiler for it, and qairt-2.40 declares none"
    )
    assert problem.hint == f"{hint} in qnnbuild.yaml, under toolchains: qairt-2.40:"
    assert problem.at == AT


def test_a_compiler_that_is_declared_is_enough() -> None:
    assert list(system_problems(graph(UBUNTU), sdk(DECLARED))) == []
    assert list(system_problems(graph(QNX), sdk({QNX: {"QNX_HOST": "a", "QNX_TARGET": "b"}}))) == []


def test_variables_of_ones_own_are_passed_as_they_are() -> None:
    assert list(system_problems(graph(OE), sdk({OE: {"QNN_OE_GCC": "a"}}))) == []


def test_half_of_a_compiler_is_told() -> None:
    (problem,) = system_problems(graph(QNX), sdk({QNX: {"QNX_HOST": "a"}}))

    assert problem.message == "QNX_TARGET is missing from the compiler for aarch64-qnx"
    assert problem.hint == "cross: {aarch64-qnx: {QNX_HOST: FOLDER, QNX_TARGET: FOLDER}}"


@pytest.mark.parametrize("system", ["windows-x86_64", "windows-aarch64"])
def test_what_is_built_on_windows_is_told_and_is_no_action(system: str) -> None:
    (problem,) = system_problems(graph(system), sdk())

    assert problem.message.startswith(f"a library for {system} is built on Windows")
    assert list(Qairt(sdk()).libraries(graph(system))) == [HOST]


def test_each_library_is_checked_for_its_machine() -> None:
    works = Qairt(sdk(DECLARED, ndk="ndk")).libraries(graph(ANDROID, UBUNTU))

    assert {name: work.params["machine"] for name, work in works.items()} == {
        HOST: "x86-64",
        ANDROID: "arm64",
        UBUNTU: "arm64",
    }
    assert {name: work.params["page_bytes"] for name, work in works.items()}[UBUNTU] == 0
    assert works[UBUNTU].tools == (f"qairt:qairt-2.40/library/{UBUNTU}", "package:pyelftools")


@pytest.mark.parametrize("system", CROSS)
def test_only_androids_build_cuts_lib_out_of_a_name(system: str) -> None:
    cross = {name: dict.fromkeys(SYSTEMS[name].variables, "/") for name in CROSS}
    toolchain = Qairt(sdk(cross, ndk="ndk"))

    plain = toolchain.problems(graph(system, name="calibrated"), CHIP)
    android = toolchain.problems(graph(system, ANDROID, name="calibrated"), CHIP)

    cut = "the SDK's build for aarch64-android takes 'lib' out of the name 'calibrated'"
    assert cut not in [problem.message for problem in plain]
    assert [problem.message for problem in android].count(cut) == 1
