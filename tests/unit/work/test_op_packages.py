"""Libraries of operators of one's own: looked at as files, before anything loads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.work.op_packages import packages
from qnnbuild.work.run import Run, WorkError
from tests.libraries import (
    ARM64,
    DEFINITION,
    HEXAGON,
    INTERFACE,
    LIBRARY,
    PROGRAM,
    START,
    X86_64,
    library,
)

PACKAGE: Mapping[str, Any] = {
    "op": "MyAdd",
    "interface": INTERFACE,
    "library": "udo/x86/libMyAdd.so",
    "on_device": {"CPU": "udo/arm64/libMyAdd.so", "HTP": "udo/v79/libMyAdd.so"},
    "xml": "udo/MyAdd.xml",
}
FILES: Mapping[str, bytes] = {
    "udo/x86/libMyAdd.so": library(),
    "udo/arm64/libMyAdd.so": library((INTERFACE,), ARM64),
    "udo/v79/libMyAdd.so": library((INTERFACE,), HEXAGON),
    "udo/MyAdd.xml": DEFINITION.encode(),
}


@pytest.fixture(autouse=True)
def _private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def checked(package: Mapping[str, Any] = PACKAGE, **files: bytes) -> Run:
    staged = dict(FILES)
    for name, data in files.items():
        staged[next(path for path in FILES if name in path)] = data
    for path, data in staged.items():
        Path("in", path).parent.mkdir(parents=True, exist_ok=True)
        Path("in", path).write_bytes(data)
    outputs = {name: Path("out", name) for name in ("here", "device", "operators")}
    for folder in outputs.values():
        folder.mkdir(parents=True)
    run = Run(params={"packages": [package]}, inputs={"files": Path("in")}, outputs=outputs)
    packages(run)
    return run


def failed(package: Mapping[str, Any] = PACKAGE, **files: bytes) -> WorkError:
    with pytest.raises(WorkError) as caught:
        checked(package, **files)
    assert caught.value.exit_code == 2
    return caught.value


def test_libraries_go_where_they_are_loaded_and_the_definition_is_read():
    run = checked()
    made = {
        path.relative_to("out").as_posix(): path.read_bytes()
        for path in Path("out").rglob("*")
        if path.is_file()
    }
    known = json.loads(made.pop("operators/operators.json"))

    assert made == {
        "here/libMyAdd.so": FILES["udo/x86/libMyAdd.so"],
        "device/op_packages/cpu/libMyAdd.so": FILES["udo/arm64/libMyAdd.so"],
        "device/op_packages/htp/libMyAdd.so": FILES["udo/v79/libMyAdd.so"],
    }
    assert [port["name"] for port in known["MyAdd"]["inputs"]] == ["a", "b"]
    assert run.warnings == []


def test_without_a_definition_nothing_is_known_of_the_operator():
    checked({**PACKAGE, "xml": None})

    assert json.loads(Path("out/operators/operators.json").read_text()) == {"MyAdd": None}


@pytest.mark.parametrize(
    ("file", "data", "place", "said"),
    [
        (
            "x86",
            b"MZ\x90\0",
            "library",
            (
                "the library 'libMyAdd.so' of 'MyAdd' is not an ELF file, as libraries of Linux, "
                "Android and the Hexagon are"
            ),
        ),
        (
            "x86",
            library(machine=ARM64),
            "library",
            "the library 'libMyAdd.so' of 'MyAdd' is for arm64, and x86-64 is wanted",
        ),
        (
            "x86",
            library(kind=PROGRAM),
            "library",
            "'libMyAdd.so' of 'MyAdd' is a program or an object, no library",
        ),
        (
            "x86",
            library((INTERFACE,)),
            "library",
            "the library 'libMyAdd.so' of 'MyAdd' is no package for the HTP",
        ),
        (
            "x86",
            library(("MyAddOpPackageInterfaceProvider", START)),
            "interface",
            f"the library 'libMyAdd.so' of 'MyAdd' does not export '{INTERFACE}'",
        ),
        (
            "arm64",
            library(machine=X86_64),
            "on_device.CPU",
            "the library 'libMyAdd.so' of 'MyAdd' is for x86-64, and arm64 is wanted",
        ),
        (
            "v79",
            library(machine=ARM64, kind=LIBRARY),
            "on_device.HTP",
            "the library 'libMyAdd.so' of 'MyAdd' is for arm64, and Hexagon is wanted",
        ),
        (
            "xml",
            b"<a/>",
            "xml",
            (
                "'MyAdd.xml' is no definition of operators: it begins with <a>, not with "
                "<OpDefCollection>"
            ),
        ),
        (
            "xml",
            DEFINITION.replace("MyAdd<", "MyAdds<").encode(),
            "xml",
            "'MyAdd.xml' does not define the operator 'MyAdd'",
        ),
    ],
)
def test_a_file_that_cannot_work_is_told_with_its_place(
    file: str, data: bytes, place: str, said: str
):
    error = failed(PACKAGE, **{file: data})

    assert (error.message, error.place) == (said, f"op_packages.MyAdd.{place}")


def test_a_function_that_is_not_exported_is_told_with_the_nearest():
    error = failed(x86=library(("MyAddInterfaceProvidr", START)))

    assert error.facts == (("it exports", "MyAddInterfaceProvidr"),)
    assert error.hint == "did you mean 'MyAddInterfaceProvidr'?"
