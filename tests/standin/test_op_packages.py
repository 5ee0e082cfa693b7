"""qnn-op-package-generator, make, and the tools that take what they build."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from qnnbuild.formats.elf_file import read_elf
from tests.libraries import model
from tests.standin.lay_out import HOST, lay_out_hexagon, missing_programs
from tests.standin.packages import DEFINITION, INTERFACE, SOURCE
from tests.standin.running import Ended, Sdk

PACKAGE = Path("gen/MyAddOpPackage")
LIBRARY = "libQnnMyAddOpPackage.so"


@pytest.fixture
def where(made: Sdk, tools: Sdk, tmp_path: Path) -> Sdk:
    (tmp_path / "MyAdd.xml").write_text(DEFINITION)
    hexagon = lay_out_hexagon(tmp_path)
    ndk = next(made.root.parent.parent.glob("android-ndk-*"))
    env = {**made.env, "HEXAGON_SDK_ROOT": str(hexagon), "ANDROID_NDK_ROOT": str(ndk)}
    return tools._replace(cwd=tmp_path, env=env)


def generate(where: Sdk, *argv: object, xml: str = "MyAdd.xml") -> Ended:
    return where.call("qnn-op-package-generator", "-p", xml, "-o", "gen", *argv)


def make(where: Sdk, *argv: str, package: Path = PACKAGE) -> Ended:
    if missing := missing_programs():
        pytest.skip(f"packages are really compiled; not on this machine: {missing}")
    done = subprocess.run(
        ["make", "-C", str(package), *argv],
        cwd=where.cwd, env=where.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_package_is_laid_out_as_it_is_documented(where: Sdk):
    done = generate(where)

    made = sorted(p.relative_to(where.cwd / PACKAGE).as_posix() for p in tree(where.cwd / PACKAGE))
    assert done.rc == 0
    assert made == [
        "Makefile",
        "config/MyAdd.xml",
        "src/MyAddOpPackageInterface.cpp",
        "src/ops/MyAdd.cpp",
    ]


@pytest.mark.parametrize(
    ("target", "folder", "machine"),
    [
        ("htp_x86", "x86_64-linux-clang", "x86-64"),
        ("htp_aarch64", "aarch64-android", "arm64"),
        ("htp_v75", "hexagon-v75", "Hexagon"),
    ],
)
def test_make_builds_a_library_for_each_target(where: Sdk, target: str, folder: str, machine: str):
    generate(where)

    done = make(where, target)

    facts = read_elf((where.cwd / PACKAGE / "build" / folder / LIBRARY).read_bytes())
    assert done.rc == 0, done.err
    assert facts.machine == machine
    assert {INTERFACE, "op_pkg_init"} <= facts.exports


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("</OpDefCollection>", "", "Failed to parse MyAdd.xml"),
        (' PackageName="MyAddOpPackage"', "", "attribute 'PackageName' is required but missing"),
        ("<Rank>", "<Layout>", "Failed to parse"),
        ("<Shape><Rank>1D</Rank></Shape>", "", "Missing child element Shape/Rank"),
        ("<Name>MyAdd</Name>", "", "Element 'OpDef': Missing child element Name"),
        ("BACKEND_SPECIFIC", "FLOAT_16", "'FLOAT_16' is not a valid value of Datatype"),
        ("HTP", "GPU", "No package can be generated for the backends of MyAdd.xml: GPU"),
        ("HTP", "NPU", "'NPU' is not an element of the set"),
    ],
)
def test_a_bad_definition_is_refused(where: Sdk, old: str, new: str, said: str):
    (where.cwd / "MyAdd.xml").write_text(DEFINITION.replace(old, new))

    done = generate(where)

    assert done.rc == 1
    assert said in done.out
    assert not (where.cwd / PACKAGE).exists()


def test_what_is_there_already_is_written_again_by_force_only(where: Sdk):
    generate(where)

    assert (generate(where).rc, generate(where, "-f").rc) == (1, 0)


def test_words_that_it_does_not_have_are_refused(where: Sdk):
    assert generate(where, "--no_such_flag").rc == 2
    assert where.call("qnn-op-package-generator", "-o", "gen").rc == 2


def test_without_its_own_sdk_the_hexagon_gets_nothing(where: Sdk):
    generate(where)
    env = {name: value for name, value in where.env.items() if name != "HEXAGON_SDK_ROOT"}

    done = make(where._replace(env=env), "htp_x86")

    assert done.rc == 2
    assert "ERROR: HEXAGON_SDK_ROOT is not set" in done.err


def test_a_package_for_the_cpu_is_another_library(where: Sdk):
    (where.cwd / "MyAdd.xml").write_text(DEFINITION.replace("HTP", "CPU"))
    generate(where)

    done = make(where, "all_x86")

    made = where.cwd / PACKAGE / "libs" / HOST / "libMyAddOpPackage.so"
    assert done.rc == 0, done.err
    assert "op_pkg_init" not in read_elf(made.read_bytes()).exports


def test_shapes_are_told_to_converters_by_a_library_of_their_own(where: Sdk):
    generate(where, "-cop")
    folder = Path("gen/MyAddOpPackage_Converter_Op_Package")

    done = make(where, "cpu", package=folder)

    made = where.cwd / folder / "ConverterOpPackage/libConverterOpPackage.so"
    assert done.rc == 0, done.err
    assert "MyAddShapeInference" in read_elf(made.read_bytes()).exports


@pytest.fixture
def converted(where: Sdk) -> Sdk:
    """The model's library, and the package's from a source that is not the skeleton's."""
    onnx.save(model(), where.cwd / "m.onnx")
    generate(where)
    (where.cwd / PACKAGE / "src/ops/MyAdd.cpp").write_text(SOURCE)
    assert make(where, "htp_x86").rc == 0
    assert where.convert("--op_package_config", "MyAdd.xml").rc == 0
    assert where.library("m", "-l", "m").rc == 0
    return where


def test_an_operator_without_a_definition_is_refused(where: Sdk):
    onnx.save(model("MyMul"), where.cwd / "m.onnx")

    done = where.convert("--op_package_config", "MyAdd.xml")

    assert done.rc == 1
    assert "No translation registered for op type(s): MyMul" in done.out


def test_a_node_says_the_package_that_has_its_operator(converted: Sdk):
    net = (converted.cwd / "out/m_net.json").read_text()

    assert '"package": "MyAddOpPackage"' in net
    assert net.count('"package": "qti.aisw"') == 2


BUILT = f"{PACKAGE}/build/{HOST}/{LIBRARY}"


def test_a_context_with_the_package_is_made_and_without_it_refused(converted: Sdk):
    without = converted.generate("--binary_file", "m")
    done = converted.generate("--binary_file", "m", "--op_packages", f"{BUILT}:{INTERFACE}:CPU")

    assert without.rc == 1
    assert "OpConfig validation failed for MyAdd" in without.out
    assert "validating node mine failed." in without.out
    assert done.rc == 0, done.out
    assert (converted.cwd / "ctx/m.bin").is_file()


def test_net_run_answers_with_what_the_package_computes(converted: Sdk):
    a, b = np.array([[-1, 2, 3, 4, 5, 6, 7, 8]], np.float32), np.ones((1, 8), np.float32)
    for name, value in (("a", a), ("b", b)):
        value.tofile(converted.cwd / f"{name}.raw")
    (converted.cwd / "list.txt").write_text("a:=a.raw b:=b.raw\n")
    backend = converted.root / "lib" / HOST / "libQnnHtp.so"
    words = ("--backend", backend, "--model", f"libs/{HOST}/libm.so", "--input_list", "list.txt")

    without = converted.call("qnn-net-run", *words)
    done = converted.call("qnn-net-run", *words, "--op_packages", f"{BUILT}:{INTERFACE}")

    assert without.rc == 1
    assert done.rc == 0, done.out + done.err
    (path,) = (converted.cwd / "output/Result_0").glob("*.raw")
    wanted = 1 / (1 + np.exp(-(np.maximum(a, 0) + b)))
    np.testing.assert_allclose(np.fromfile(path, np.float32), wanted[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (BUILT, "Malformed opPackage string provided"),
        (f"{BUILT}:{INTERFACE}:HTP", "not supported for target HTP"),
        (f"{BUILT}:Provider", "undefined symbol: Provider"),
        (f"none.so:{INTERFACE}", "cannot open shared object file"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_refused(converted: Sdk, entry: str, said: str):
    done = converted.generate("--binary_file", "m", "--op_packages", entry)

    assert done.rc == 1
    assert said in done.out + done.err


def test_a_library_of_which_a_source_is_missing_is_not_loaded(converted: Sdk):
    folder = converted.cwd / PACKAGE
    (folder / "src/ops/MyAdd.cpp").unlink()
    shutil.rmtree(folder / "build")
    make(converted, "htp_x86")

    done = converted.generate("--binary_file", "m", "--op_packages", f"{BUILT}:{INTERFACE}")

    assert "undefined symbol: PKG_MyAdd_register" in done.out


def tree(folder: Path) -> list[Path]:
    return [Path(at) / name for at, _, names in os.walk(folder) for name in names]
