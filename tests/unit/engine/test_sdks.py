"""Where SDKs are, and what of them counts in a key."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.sdk_parts import PARTS
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.trust import Trust
from qnnbuild.errors import NotTrusted, Span, ToolError
from qnnbuild.model.sdk_runtime import runtime_files
from qnnbuild.model.sdks import Sdk
from qnnbuild.work import qairt_sdk

SPAN = Span(file="qnnbuild.yaml", line=2, column=3)
SDK = Sdk(name="qairt-2.40", root="${SDK}/2.40", python="py/bin/python", span=SPAN)
HOST = "x86_64-linux-clang"


def write(path: Path, text: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    root = tmp_path / "sdks" / "2.40"
    write(root / "sdk.yaml", "version: 2.40.0.251030\n")
    for part in PARTS.values():
        for name in part.needed:
            write(root / name)
    write(root / "lib/python/qti/a.py")
    write(tmp_path / "py/bin/python")
    write(tmp_path / "py/lib/python3.10/site-packages/onnx-1.17.0.dist-info/METADATA")
    write(tmp_path / "ndk/source.properties", "Pkg.Revision = 29.0\n")
    return tmp_path


def sdks(top: Path, sdk: Sdk = SDK, **environ: str) -> Sdks:
    return Sdks({sdk.name: sdk}, top, Stats(), {"SDK": "sdks", **environ})


def said(found: Sdks, word: str = "qairt-2.40/converter") -> str:
    with pytest.raises(ToolError) as caught:
        found.measure(word)
    assert caught.value.problems[0].at == SPAN
    return caught.value.problems[0].message.removeprefix("the toolchain qairt-2.40 is not here: ")


@pytest.mark.parametrize("key", ["root", "python", "ndk", "hexagon"])
def test_what_a_variable_holds_is_in_no_error(top: Path, key: str) -> None:
    written = "/opt/${PRIVATE}"
    declared: dict[str, Any] = {"root": "sdks/2.40", "python": "py/bin/python", key: written}
    asked = getattr(sdks(top, replace(SDK, **declared), PRIVATE="hidden"), key)
    with pytest.raises(ToolError) as caught:
        asked(SDK.name)

    assert "hidden" not in repr(caught.value.problems)
    assert written in repr(caught.value.problems)


def test_a_part_is_the_version_and_what_does_the_work(top: Path) -> None:
    before = sdks(top).measure("qairt-2.40/converter")

    assert before.startswith("2.40.0.251030 sha256:")
    write(top / f"sdks/2.40/lib/{HOST}/libQnnHtp.so", "other")
    assert sdks(top).measure("qairt-2.40/converter") == before
    write(top / "sdks/2.40/lib/python/qti/a.py", "other")
    assert sdks(top).measure("qairt-2.40/converter") != before


@pytest.mark.parametrize(
    "changed",
    [
        "sdks/2.40/bin/x86_64-linux-clang/qnn-onnx-converter",
        "py/bin/python",
        "py/lib/python3.10/site-packages/onnx-1.18.0.dist-info/METADATA",
    ],
)
def test_what_converts_counts(top: Path, changed: str) -> None:
    before = sdks(top).measure("qairt-2.40/converter")

    write(top / changed, "other text")

    assert sdks(top).measure("qairt-2.40/converter") != before


def test_where_it_lies_and_what_python_compiled_do_not(top: Path) -> None:
    before = sdks(top).measure("qairt-2.40/context")
    write(top / "sdks/2.40/lib/python/qti/__pycache__/a.cpython-310.pyc")
    converter = sdks(top).measure("qairt-2.40/converter")

    (top / "sdks").rename(top / "moved")

    assert sdks(top, SDK=str(top / "moved")).measure("qairt-2.40/context") == before
    assert sdks(top, SDK="moved").measure("qairt-2.40/converter") == converter


def test_an_action_is_told_where_it_is(top: Path) -> None:
    with_ndk = replace(SDK, ndk="ndk", hexagon="hexagon")

    assert {name: json.loads(told) for name, told in sdks(top, with_ndk).variables().items()} == {
        "QNNBUILD_SDK_2_40": {
            "root": str(top / "sdks/2.40"),
            "python": str(top / "py/bin/python"),
            "ndk": str(top / "ndk"),
            "hexagon": str(top / "hexagon"),
        }
    }
    assert sdks(top, SDK="nowhere").variables() == {}


def test_what_is_missing_is_told(top: Path) -> None:
    assert said(sdks(top, SDK="")) == "the environment variable SDK is not set"
    assert said(sdks(top, SDK="nowhere")) == "there is no such folder"
    assert said(sdks(top, replace(SDK, python="no/python"))) == (
        "its Python 'no/python' is not on this machine"
    )
    assert said(sdks(top, replace(SDK, python="no-such-python"))) == (
        "its Python 'no-such-python' is not on this machine"
    )
    assert said(sdks(top), "qairt-2.40/library/aarch64-android") in (
        "there is no Android NDK for it",
        "make is not on this machine",
    )
    (top / f"sdks/2.40/lib/{HOST}/libQnnHtp.so").unlink()
    assert said(sdks(top), "qairt-2.40/context") == f"lib/{HOST}/libQnnHtp.so is not in it"


def test_a_folder_of_another_version_is_refused(top: Path) -> None:
    write(top / "sdks/2.40/sdk.yaml", "version: 2.42.0\n")
    assert said(sdks(top)) == "the SDK is 2.42.0"
    write(top / "sdks/2.40/sdk.yaml", "onnx: 1\n")
    assert said(sdks(top)).startswith("sdk.yaml says no version")


def test_files_that_count_are_looked_at_before_a_build(top: Path) -> None:
    action = Action(
        name="a", step="context", argv=("x",), outputs=("o",), tools=("qairt:qairt-2.40/context",)
    )
    found = set(Identity(Stats(), sdks(top)).files(action))

    assert top / "sdks/2.40/sdk.yaml" in found
    assert top / f"sdks/2.40/lib/{HOST}/libQnnHtp.so" in found
    assert set(Identity(Stats(), sdks(top, SDK="nowhere")).files(action)) == set()


UBUNTU = "aarch64-ubuntu-gcc9.4"
PART = f"qairt-2.40/library/{UBUNTU}"
CROSS = replace(SDK, cross={UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": "cross"}})


@pytest.fixture
def crossed(top: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a compiler for another system, and make."""
    write(top / "cross/usr/bin/aarch64-linux-gnu-g++")
    write(top / "usr/bin/make")
    (top / "usr/bin/make").chmod(0o755)
    monkeypatch.setattr(qairt_sdk, "HOST_PATH", (str(top / "usr/bin"),))
    return top


def test_a_compiler_for_another_system_counts_by_its_programs(crossed: Path) -> None:
    before = sdks(crossed, CROSS).measure(PART)

    write(crossed / "cross/usr/share/doc/README")
    assert sdks(crossed, CROSS).measure(PART) == before
    write(crossed / "cross/usr/bin/aarch64-linux-gnu-g++", "another")
    assert sdks(crossed, CROSS).measure(PART) != before


def test_it_does_not_count_for_what_it_does_not_build(crossed: Path) -> None:
    with_it = sdks(crossed, CROSS).measure("qairt-2.40/converter")

    assert sdks(crossed).measure("qairt-2.40/converter") == with_it


def test_an_action_is_told_of_a_compiler_by_the_variables_of_the_sdk(crossed: Path) -> None:
    told = json.loads(sdks(crossed, CROSS).variables()["QNNBUILD_SDK_2_40"])

    assert told["cross"] == {UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": str(crossed / "cross")}}


def test_a_compiler_that_is_not_there_is_told_by_what_needs_it_only(crossed: Path) -> None:
    gone = replace(SDK, cross={UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": "${NO_SUCH}/gcc"}})
    empty = replace(SDK, cross={UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": "py"}})

    assert said(sdks(crossed, gone), PART) == "the environment variable NO_SUCH is not set"
    assert said(sdks(crossed), PART) == f"no compiler for {UBUNTU} is declared"
    assert said(sdks(crossed, empty), PART) == (
        f"there is no compiler for {UBUNTU} in {crossed / 'py'}"
    )
    assert "cross" not in json.loads(sdks(crossed, gone).variables()["QNNBUILD_SDK_2_40"])


def test_a_changed_compiler_or_ndk_is_seen_before_a_build(crossed: Path) -> None:
    with_ndk = replace(CROSS, ndk="ndk")
    compiler = crossed / "cross/usr/bin/aarch64-linux-gnu-g++"

    assert compiler in set(sdks(crossed, with_ndk).files(PART))
    assert crossed / "ndk/source.properties" in set(
        sdks(crossed, with_ndk).files("qairt-2.40/library/aarch64-android")
    )


RUNTIME = "runtime/aarch64-android/79"


def test_libraries_that_go_along_count_with_the_text_of_their_licence(top: Path) -> None:
    word = f"qairt-2.40/{RUNTIME}"
    for name in runtime_files(RUNTIME):
        write(top / "sdks/2.40" / name)
    before = sdks(top).measure(word)

    write(top / "sdks/2.40/LICENSE.txt", "text")

    assert sdks(top).measure(word) != before
    assert top / "sdks/2.40/LICENSE.txt" in list(sdks(top).files(word))


def test_a_library_that_the_sdk_has_not_is_told(top: Path) -> None:
    assert said(sdks(top), f"qairt-2.40/{RUNTIME}") == (
        "lib/aarch64-android/libQnnHtp.so is not in it"
    )


HOST_PART = f"qairt-2.40/library/{HOST}"


def program(path: Path, text: str = "x") -> None:
    write(path, text)
    path.chmod(0o755)


@pytest.fixture
def with_programs(top: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("clang++", "make", "objcopy"):
        program(top / "usr/bin" / name)
    monkeypatch.setattr(qairt_sdk, "HOST_PATH", (str(top / "usr/bin"),))
    return top


@pytest.mark.parametrize("name", ["clang++", "make", "objcopy"])
def test_a_program_beside_its_python_is_what_counts_as_it_is_what_runs(
    with_programs: Path, name: str
) -> None:
    before = sdks(with_programs).measure(HOST_PART)

    program(with_programs / "py/bin" / name, "that of a conda environment")

    assert sdks(with_programs).measure(HOST_PART) != before
    assert with_programs / "py/bin" / name in set(sdks(with_programs).files(HOST_PART))


def test_programs_beside_its_python_are_enough(with_programs: Path) -> None:
    for name in ("clang++", "make", "objcopy"):
        (with_programs / "usr/bin" / name).rename(with_programs / "py/bin" / name)

    assert sdks(with_programs).measure(HOST_PART)


def test_programs_are_looked_for_where_an_action_finds_them(with_programs: Path) -> None:
    located = sdks(with_programs, replace(SDK, ndk="ndk")).locate("qairt-2.40")
    given = qairt_sdk.Sdk(root=located.root, python=located.python, ndk=located.ndk)

    assert given.environment()["PATH"] == located.search_path


def test_the_packages_of_a_systems_python_count(top: Path) -> None:
    write(top / "usr/bin/python3.10")
    system = replace(SDK, python="usr/bin/python3.10")
    before = sdks(top, system).measure("qairt-2.40/converter")

    write(top / "usr/lib/python3/dist-packages/onnx-1.17.0.dist-info/METADATA")

    assert sdks(top, system).measure("qairt-2.40/converter") != before


@pytest.mark.parametrize(
    "new",
    [
        "py/lib/python3.10/site-packages/onnx-1.18.0.dist-info/METADATA",
        "sdks/2.40/lib/python/new.py",
        "sdks/2.40/lib/python/qti/new.py",
        "sdks/2.40/lib/python/new/new.py",
    ],
)
def test_what_is_new_is_seen_before_a_build(top: Path, new: str) -> None:
    watched = set(sdks(top).files("qairt-2.40/converter"))

    there = next(path for path in (top / new).parents if path.exists())

    assert there in watched


def test_its_python_is_looked_at_before_a_build(top: Path) -> None:
    assert top / "py/bin/python" in set(sdks(top).files("qairt-2.40/converter"))


@pytest.mark.parametrize("part", ["converter", "dlc-converter", "quantizer"])
@pytest.mark.parametrize("library", ["libQnnCpu.so", "libc++.so.1", "libc++abi.so.1"])
def test_what_ranges_are_measured_with_counts(top: Path, part: str, library: str) -> None:
    before = sdks(top).measure(f"qairt-2.40/{part}")

    write(top / f"sdks/2.40/lib/{HOST}/{library}")

    assert sdks(top).measure(f"qairt-2.40/{part}") != before


def test_compilers_of_one_name_in_two_folders_count_both(crossed: Path) -> None:
    folders = {"ONE": "cross", "OTHER": "another"}
    two = replace(SDK, cross={UBUNTU: folders})
    for folder in folders.values():
        write(crossed / folder / "usr/bin/aarch64-linux-gnu-g++", folder)
    seen = {sdks(crossed, two).measure(PART)}

    for folder in folders.values():
        write(crossed / folder / "usr/bin/aarch64-linux-gnu-g++", "a change of it")
        seen.add(sdks(crossed, two).measure(PART))

    assert len(seen) == 3


def test_where_a_compiler_lies_does_not_count(crossed: Path) -> None:
    before = sdks(crossed, CROSS).measure(PART)

    (crossed / "cross").rename(crossed / "moved")
    moved = replace(SDK, cross={UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": "moved"}})

    assert sdks(crossed, moved).measure(PART) == before


@pytest.mark.parametrize("key", ["root", "python", "ndk", "hexagon"])
def test_programs_in_a_repo_of_strangers_are_not_found(top: Path, key: str) -> None:
    said: dict[str, Any] = {"root": "/opt/sdk", "python": "/usr/bin/env", key: "./mine"}
    declared = replace(SDK, **said)
    found = Sdks({SDK.name: declared}, top, Stats(), {}, trust=Trust(given=False, why="a test"))
    asked = getattr(found, key)
    with pytest.raises(NotTrusted) as caught:
        asked(SDK.name)

    (problem,) = caught.value.problems
    assert problem.at == SPAN
    assert problem.message == (
        "the toolchain qairt-2.40 would run programs of this repo, which is not trusted"
    )
    assert dict(problem.facts)["written"] == "./mine"
