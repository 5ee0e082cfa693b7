"""One SDK looked at: a whole one is well, and each thing that is taken away is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.examine_sdk import LIBRARIES, PACKAGES, Machine, Ran, examine_sdk
from qnnbuild.engine.finding import Finding
from qnnbuild.engine.sdk_parts import PARTS
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.model.sdks import Sdk
from qnnbuild.work import qairt_sdk

HOST = "x86_64-linux-clang"
GRAPH = "lib/python/qti/libPyIrGraph310.so"
VERSIONS = {"numpy": "1.26.4", "onnx": "1.17.0"}
SDK = Sdk(name="qairt-2.40", root="sdk", python="py/bin/python", ndk="ndk")
Change = Callable[[Path], object]


class Python:
    """Answers as the SDK's Python would, from what it is asked."""

    def __init__(self, version: str = "3.10", failed: Mapping[str, str] | None = None) -> None:
        self.version, self.failed = version, failed or {}
        self.versions = {name: VERSIONS.get(name, "1.0") for name in PACKAGES}
        self.asked: list[str] = []
        self.environment: Mapping[str, str] = {}

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str]) -> Ran:
        self.asked, self.environment = list(argv), environment
        told: dict[str, Any] = {"version": [int(n) for n in self.version.split(".")]}
        told["packages"] = {k: v for k, v in self.versions.items() if k not in self.failed}
        told["failed"] = {
            word: text for key, text in self.failed.items() for word in argv if word.endswith(key)
        }
        return 0, f"a warning of some package\n{json.dumps(told)}\n"


def write(path: Path, text: str = "x", mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "sdk"
    write(root / "sdk.yaml", "version: 2.40.0.251030\n")
    for part in PARTS.values():
        for name in part.needed:
            write(root / name)
    write(root / GRAPH)
    write(tmp_path / "py/bin/python")
    write(tmp_path / "ndk/source.properties", "Pkg.Desc = Android NDK\nPkg.Revision = 29.0.1\n")
    write(tmp_path / "ndk/ndk-build")
    for name in LIBRARIES:
        write(tmp_path / "usr/lib" / name)
    write(tmp_path / "usr/include/c++/v1/string")
    for name in ("clang++", "make", "objcopy"):
        write(tmp_path / "usr/bin" / name)
    monkeypatch.setattr(qairt_sdk, "HOST_PATH", (str(tmp_path / "usr/bin"),))
    return tmp_path


def machine(top: Path, **changed: Any) -> Machine:
    given: dict[str, Any] = {"top": top, "glibc": "glibc 2.35", "run": Python(), **changed}
    return Machine(**given)


def looked_at(top: Path, sdk: Sdk = SDK, **changed: Any) -> list[Finding]:
    sdks = Sdks({sdk.name: sdk}, top, Stats(), {"PATH": str(top / "usr/bin")})
    return list(examine_sdk(sdks, sdk.name, machine(top, **changed)))


def bad(findings: Sequence[Finding]) -> list[tuple[str, str, str | None]]:
    return [
        (found.what.removeprefix("qairt-2.40: "), found.found, found.mend)
        for found in findings
        if not found.good
    ]


def test_a_whole_sdk_is_well(top: Path) -> None:
    findings = looked_at(top)

    assert bad(findings) == []
    assert [found.what.removeprefix("qairt-2.40: ") for found in findings] == [
        "folder", "sdk.yaml",
        *(name for name, part in PARTS.items() if part.needed and not part.cross),
        "Python", "packages", "libPyIrGraph", "glibc", "libc++", "clang++", "make", "objcopy",
        "headers of libc++", "NDK", "pages of 16 KB",
    ]  # fmt: skip
    assert {found.mend for found in findings} == {None}


def test_without_an_ndk_nothing_is_asked_of_one(top: Path) -> None:
    asked = {found.what.partition(": ")[2] for found in looked_at(top, replace(SDK, ndk=None))}

    assert {"NDK", "pages of 16 KB", "library/aarch64-android"} & asked == set()


def taken(name: str) -> Change:
    return lambda top: (top / name).unlink()


def says(name: str, text: str) -> Change:
    return lambda top: (top / name).write_text(text)


def idle(name: str) -> Change:
    return lambda top: (top / name).chmod(0o644)


GENERATOR = f"bin/{HOST}/qnn-context-binary-generator"


@pytest.mark.parametrize(
    ("change", "what", "found", "mend"),
    [
        (
            taken("sdk/sdk.yaml"),
            "sdk.yaml",
            "missing",
            "root: the folder that has sdk.yaml, bin and lib in it, not TOP/sdk",
        ),
        (
            says("sdk/sdk.yaml", "onnx: 1.17.0\n"),
            "sdk.yaml",
            "says no version: no line 'version: …' in it",
            "root: the folder that has sdk.yaml, bin and lib in it, not TOP/sdk",
        ),
        (
            says("sdk/sdk.yaml", "version: 2.42.0.251225\n"),
            "sdk.yaml",
            "2.42.0.251225",
            "root: the folder of 2.40, or call this toolchain qairt-2.42.0.251225",
        ),
        (
            taken(f"sdk/{GENERATOR}"),
            "context",
            f"missing: {GENERATOR}",
            "unpack the SDK's archive again: TOP/sdk is not whole",
        ),
        (
            idle(f"sdk/{GENERATOR}"),
            "context",
            f"may not be run: {GENERATOR}",
            f"chmod +x TOP/sdk/{GENERATOR}",
        ),
        (
            taken(f"sdk/{GRAPH}"),
            "libPyIrGraph",
            "not in lib/python",
            "unpack the SDK's archive again: TOP/sdk",
        ),
        (
            taken("usr/lib/libunwind.so.1"),
            "libc++",
            "missing: libunwind.so.1",
            "apt-get install libunwind-14",
        ),
        (
            lambda top: [(top / "usr/lib" / name).unlink() for name in LIBRARIES],
            "libc++",
            "missing: libc++.so.1, libc++abi.so.1, libunwind.so.1",
            "apt-get install libc++1 libc++abi1 libunwind-14",
        ),
        (taken("usr/bin/clang++"), "clang++", "not on this machine", "apt-get install clang"),
        (taken("usr/bin/make"), "make", "not on this machine", "apt-get install make"),
        (taken("usr/bin/objcopy"), "objcopy", "not on this machine", "apt-get install binutils"),
        (
            taken("usr/include/c++/v1/string"),
            "headers of libc++",
            "not on this machine",
            "apt-get install libc++-dev libc++abi-dev",
        ),
        (
            taken("ndk/source.properties"),
            "NDK",
            "missing: source.properties with its revision",
            "ndk: the folder that has source.properties and ndk-build in it, not TOP/ndk",
        ),
        (
            taken("ndk/ndk-build"),
            "NDK",
            "missing: ndk-build",
            "ndk: the folder that has source.properties and ndk-build in it, not TOP/ndk",
        ),
        (
            idle("ndk/ndk-build"),
            "NDK",
            "TOP/ndk/ndk-build may not be run",
            "chmod +x TOP/ndk/ndk-build",
        ),
    ],
)
def test_what_is_taken_away_is_told(top: Path, change: Change, what, found, mend) -> None:
    change(top)

    told = bad(looked_at(top))

    assert told == [(what, found.replace("TOP", str(top)), mend.replace("TOP", str(top)))]


def test_tools_that_python_runs_need_not_be_programs(top: Path) -> None:
    (top / f"sdk/bin/{HOST}/qnn-onnx-converter").chmod(0o644)

    assert bad(looked_at(top)) == []


def test_the_sdks_own_libraries_come_before_the_systems(top: Path) -> None:
    for name in LIBRARIES:
        write(top / f"sdk/lib/{HOST}" / name)
    found = next(f for f in looked_at(top) if f.what.endswith("libc++"))

    assert found.found == str(top / f"sdk/lib/{HOST}")


def test_an_older_glibc_is_told(top: Path) -> None:
    (told,) = bad(looked_at(top, glibc="glibc 2.31"))

    assert told[:2] == ("glibc", "glibc 2.31")
    assert told[2] is not None
    assert told[2].endswith("build on Ubuntu 22.04 or newer, or in the image of Dockerfile-2.40")
    assert bad(looked_at(top, glibc="glibc 3.0")) == []


def test_another_python_is_told_and_that_nothing_is_there_for_it(top: Path) -> None:
    other, graph = bad(looked_at(top, run=Python("3.12")))

    assert other[:2] == ("Python", f"3.12 ({top}/py/bin/python)")
    assert other[2] is not None
    assert other[2].startswith("the SDK's converters load in python3.10 only: apt-get install ")
    assert graph == ("libPyIrGraph", "none for Python 3.12 in lib/python", "python: a python3.10")


@pytest.mark.parametrize(
    ("missing", "asked"),
    [
        ("onnx", "onnx==1.17.0"),
        ("yaml", "pyyaml"),
        ("google.protobuf", "'protobuf<5'"),
        ("numpy", "'numpy<2'"),
        ("onnxruntime", "onnxruntime==1.17.1"),
        ("pandas", "pandas"),
        ("packaging", "packaging"),
    ],
)
def test_a_package_that_cannot_be_imported_is_told(top: Path, missing: str, asked: str) -> None:
    text = f"ModuleNotFoundError: No module named '{missing}'"

    assert bad(looked_at(top, run=Python(failed={missing: text}))) == [
        ("packages", f"{missing}: {text}", f"{top}/py/bin/python -m pip install {asked}")
    ]


def test_a_numpy_of_2_is_told(top: Path) -> None:
    python = Python()
    python.versions["numpy"] = "2.1.0"

    assert bad(looked_at(top, run=python)) == [
        (
            "packages",
            "numpy: numpy 2.1.0 is not below 2",
            f"{top}/py/bin/python -m pip install 'numpy<2'",
        )
    ]


def test_what_the_converters_load_must_load(top: Path) -> None:
    text = "OSError: libpython3.10.so.1.0: cannot open shared object file"

    assert bad(looked_at(top, run=Python(failed={"PyIrGraph310.so": text}))) == [
        (
            "libPyIrGraph",
            "libpython3.10.so.1.0: cannot open shared object file",
            "apt-get install libpython3.10 libc++1 libc++abi1",
        )
    ]


def test_a_library_for_another_python_beside_it_does_not_matter(top: Path) -> None:
    write(top / "sdk/lib/python/qti/libPyIrGraph38.so")

    assert bad(looked_at(top, run=Python(failed={"PyIrGraph38.so": "OSError: no"}))) == []


@pytest.mark.parametrize(
    ("ran", "found"),
    [
        ((-11, ""), "ended with signal SIGSEGV: it said nothing"),
        ((1, "Traceback\nValueError: no\n"), "ended with exit code 1: ValueError: no"),
        ((0, "hello\n"), "ended with exit code 0: hello"),
    ],
)
def test_a_python_that_ends_badly_is_told(top: Path, ran: Ran, found: str) -> None:
    (told,) = bad(looked_at(top, run=lambda *_: ran))

    assert told[:2] == ("Python", f"{top}/py/bin/python {found}")


def test_it_is_asked_in_the_surroundings_of_an_action(top: Path) -> None:
    python = Python()
    looked_at(top, run=python)

    assert python.asked[:2] == [str(top / "py/bin/python"), "-c"]
    assert python.asked[3:] == [*PACKAGES, str(top / "sdk" / GRAPH)]
    assert python.environment["PYTHONPATH"].startswith(f"{top}/sdk/lib/python/:")
    assert python.environment["LD_LIBRARY_PATH"].startswith(f"{top}/sdk/lib/{HOST}")


@pytest.mark.parametrize(
    ("sdk", "first", "mend"),
    [
        (replace(SDK, root="gone"), ("folder", "there is no such folder: gone"), "root: the"),
        (
            replace(SDK, root="${NO_SDK}/2.40"),
            ("folder", "the environment variable NO_SDK is not set: ${NO_SDK}/2.40"),
            "export NO_SDK=…, or write the path",
        ),
    ],
)
def test_without_its_folder_the_machine_is_looked_at_all_the_same(top, sdk, first, mend) -> None:
    for name in ("clang++", "make"):
        (top / "usr/bin" / name).unlink()
    told = bad(looked_at(top, sdk))

    assert told[0][:2] == first
    assert told[0][2] is not None
    assert told[0][2].startswith(mend)
    assert [what for what, _, _ in told[1:]] == ["clang++", "make"]


def test_a_python_or_an_ndk_that_is_not_there_is_told(top: Path) -> None:
    python, ndk = bad(looked_at(top, replace(SDK, python="no/python", ndk="no/ndk")))

    assert python[:2] == ("Python", "its Python 'no/python' is not on this machine")
    assert python[2] is not None
    assert ndk == (
        "NDK",
        "there is no such folder: no/ndk",
        "ndk: the folder that has source.properties and ndk-build in it",
    )


def test_an_older_ndk_is_good_with_a_word_on_pages(top: Path) -> None:
    (top / "ndk/source.properties").write_text("Pkg.Revision = 26.2.11394342\n")
    found = looked_at(top)[-1]

    assert (found.good, found.found) == (True, "r26 leaves libraries at 4 KB")
    assert found.mend is not None
    assert found.mend.startswith("an NDK from r28 on")


UBUNTU = "aarch64-ubuntu-gcc9.4"
CROSS = replace(SDK, cross={UBUNTU: {"QNN_AARCH64_UBUNTU_GCC_94": "cross"}})


def test_a_declared_compiler_for_another_system_is_looked_at(top: Path) -> None:
    write(top / "cross/usr/bin/aarch64-linux-gnu-g++")
    write(top / "cross/usr/bin/aarch64-linux-gnu-as")
    findings = looked_at(top, CROSS)

    assert bad(findings) == []
    assert f"qairt-2.40: library/{UBUNTU}" in [found.what for found in findings]
    assert findings[-1] == Finding(
        what=f"qairt-2.40: compiler for {UBUNTU}",
        good=True,
        found=str(top / "cross/usr/bin/aarch64-linux-gnu-g++"),
    )


def test_a_declared_compiler_that_is_not_there_is_told_with_its_cure(top: Path) -> None:
    write(top / "cross/README")
    (empty,) = bad(looked_at(top, CROSS))
    (gone,) = bad(looked_at(top, replace(SDK, cross={"aarch64-qnx": {"QNX_HOST": "no"}})))

    assert empty == (
        f"compiler for {UBUNTU}",
        f"there is no compiler for {UBUNTU} in {top}/cross: usr/bin/aarch64*, bin/aarch64*",
        f"apt-get install g++-aarch64-linux-gnu, and cross: {{{UBUNTU}: /}}",
    )
    assert gone == (
        "compiler for aarch64-qnx",
        "there is no such folder: no",
        "cross: {aarch64-qnx: {QNX_HOST: FOLDER, QNX_TARGET: FOLDER}}",
    )
