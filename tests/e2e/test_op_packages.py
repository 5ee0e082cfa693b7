"""Operators of the user's own with the real plugin: their libraries are loaded by its compiler.

A library that works can only be built with Qualcomm's SDK. These are built by the system's C
compiler and do nothing, which shows that they are found and loaded, and how a bad one is told.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.small_repo import Done, SmallRepo
from tests.libraries import ARM64, DEFINITION, HEXAGON, INTERFACE, library, model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]

RECIPE = """\
model: own
license: MIT
source: {file: ../onnx/own.onnx}
chips: [SM8750]
graphs:
  own:
    op_packages:
    - op: MyAdd
      interface: MyAddInterfaceProvider
      library: ../udo/x86/libMyAdd.so
      on_device: {CPU: ../udo/arm64/libMyAdd.so, HTP: ../udo/v79/libMyAdd.so}
      xml: ../udo/MyAdd.xml
"""
CODE = """\
#include <stdio.h>
#include <stdlib.h>
void *op_pkg_init(void) { fprintf(stderr, "op_pkg_init was called\\n"); return 0; }
int MyAddInterfaceProvider(void *asked) { return 1; }
"""
DIES = CODE.replace("return 0;", "abort();")


@pytest.fixture
def repo(tmp_path: Path) -> SmallRepo:
    made = SmallRepo.make(tmp_path / "repo")
    made.model("own", model())
    made.recipe("own", RECIPE)
    for folder, data in (
        ("arm64", library((INTERFACE,), ARM64)),
        ("v79", library((INTERFACE,), HEXAGON)),
    ):
        (made.root / "udo" / folder).mkdir(parents=True)
        (made.root / "udo" / folder / "libMyAdd.so").write_bytes(data)
    (made.root / "udo/MyAdd.xml").write_text(DEFINITION)
    return made


def built(repo: SmallRepo, code: str) -> Done:
    """With the library compiled from `code`."""
    source = repo.root / "udo/code.c"
    source.write_text(code)
    (repo.root / "udo/x86").mkdir(exist_ok=True)
    made = repo.root / "udo/x86/libMyAdd.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return repo.doit()


def log_of(repo: SmallRepo, action: str) -> str:
    told = repo.qnnbuild("show", action).out
    path = next(word for word in told.split() if word.endswith(".log"))
    return (repo.root / path).read_text(errors="replace")


def test_the_compiler_loads_the_library_and_a_bad_one_is_told_by_name(repo: SmallRepo):
    done = built(repo, CODE)

    assert done.ran == ["fetch/own", "packages/own/own", "prepare/own/own", "convert/own/own+fp16"]
    assert (
        "recipes/own.yaml:7:5: error: 'own' does not compile for SM8750: a package of your own "
        "operators is refused" in done.out
    )
    assert "  package:       libMyAdd.so\n" in done.out
    assert "op_pkg_init was called" in log_of(repo, "context/own/own@SM8750")


def test_a_library_that_ends_the_compiler_is_told_by_name(repo: SmallRepo):
    done = built(repo, DIES)

    assert (
        "recipes/own.yaml:7:5: error: the compiler crashed with packages of your own operators in "
        "it (SIGABRT)" in done.out
    )
    assert "  MyAdd:  libMyAdd.so\n" in done.out


def test_a_library_without_the_function_is_refused_before_it_is_loaded(repo: SmallRepo):
    done = built(repo, CODE.replace("int MyAdd", "int My"))

    assert (
        "recipes/own.yaml:9:18: error: the library 'libMyAdd.so' of 'MyAdd' does not export "
        "'MyAddInterfaceProvider'" in done.out
    )
    assert "  hint: did you mean 'MyInterfaceProvider'?\n" in done.out
