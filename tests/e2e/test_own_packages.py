"""Operators of the user's own as sources, on the stand-in: skeleton, make, and all that follows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from qnnbuild.formats.elf_file import read_elf
from tests.e2e.sdk_repo import SdkRepo, sdk_repo
from tests.e2e.small_repo import Done
from tests.libraries import ARM64, HEXAGON, library, model
from tests.standin.lay_out import lay_out_hexagon
from tests.standin.packages import (
    CPU_DEFINITION,
    CPU_SOURCE,
    DEFINITION,
    INTERFACE,
    SHAPES,
    SOURCE,
)

pytestmark = pytest.mark.slow(seconds=80)

RECIPE = """\
model: own
license: MIT
toolchain: qairt-2.40
chips: [{chips}]
source: {{file: ../models/own.onnx}}
graphs:
  own:
    verify: {{chips: none}}
    precision: fp16
    op_packages:
    - op: MyAdd
      interface: MyAddOpPackageInterfaceProvider
      xml: ../udo/MyAddOpPackage.xml
      sources: ../udo/*.cpp
"""
LIBRARY = "libQnnMyAddOpPackage.so"
HERE = "op-package/own/own/MyAddOpPackage/htp_x86"


def own_repo(folder: Path) -> SdkRepo:
    repo = sdk_repo(folder)
    (repo.root / "recipes/sense.yaml").unlink()
    onnx.save(model(), repo.root / "models/own.onnx")
    repo.write("udo/MyAddOpPackage.xml", DEFINITION)
    repo.write("udo/MyAdd.cpp", SOURCE)
    repo.write("recipes/own.yaml", RECIPE.format(chips="SM8550, SM8750"))
    settings = (repo.root / "qnnbuild.yaml").read_text()
    hexagon = lay_out_hexagon(folder)
    ndk = next(line for line in settings.splitlines() if "ndk:" in line)
    repo.write("qnnbuild.yaml", settings.replace(ndk, f"{ndk}\n    hexagon: {hexagon}"))
    return repo


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRepo, Done]:
    repo = own_repo(tmp_path_factory.mktemp("own"))
    return repo, repo.doit()


def test_sources_are_built_for_this_host_and_for_each_generation(built):
    _, done = built

    assert done.code == 0, done.out + done.err
    assert sorted(name for name in done.ran if "MyAdd" in name) == [
        "op-package/own/own/MyAddOpPackage/htp_aarch64",
        "op-package/own/own/MyAddOpPackage/htp_v73",
        "op-package/own/own/MyAddOpPackage/htp_v79",
        HERE,
        "skeleton/own/own/MyAddOpPackage",
    ]


def test_a_bundle_has_the_libraries_of_its_generation_and_says_how_they_are_loaded(built):
    repo, _ = built
    folder = repo.root / "build/own/SM8750"

    machines = {
        path.parent.name: read_elf(path.read_bytes()).machine
        for path in folder.glob("op_packages/*/*.so")
    }
    run = json.loads((folder / "manifest.json").read_text())["graphs"]["own"]["run"]

    assert machines == {"cpu": "arm64", "htp": "Hexagon"}
    assert run["op_packages"] == (
        f"./op_packages/cpu/{LIBRARY}:{INTERFACE}:CPU,./op_packages/htp/{LIBRARY}:{INTERFACE}:HTP"
    )


def test_a_changed_line_builds_the_package_again_and_what_follows_and_nothing_else(built):
    repo, _ = built
    repo.write("udo/MyAdd.cpp", SOURCE.replace("a[at] + b[at]", "b[at] + a[at] + 0.0f"))

    done = repo.doit()
    repo.write("udo/MyAdd.cpp", SOURCE)
    back = repo.doit()

    assert sorted(done.ran) == [
        "bundle/own@SM8550",
        "bundle/own@SM8750",
        "context/own/own@SM8550",
        "context/own/own@SM8750",
        "op-package/own/own/MyAddOpPackage/htp_aarch64",
        "op-package/own/own/MyAddOpPackage/htp_v73",
        "op-package/own/own/MyAddOpPackage/htp_v79",
        HERE,
        "packages/own/own",
    ]
    assert back.ran == []


def test_another_generation_gets_a_library_of_its_own(built):
    repo, _ = built
    repo.write("recipes/own.yaml", RECIPE.format(chips="SM8550, SM8750, SM8650"))

    done = repo.doit()
    repo.write("recipes/own.yaml", RECIPE.format(chips="SM8550, SM8750"))

    assert sorted(done.ran) == [
        "bundle/own@SM8650",
        "context/own/own@SM8650",
        "op-package/own/own/MyAddOpPackage/htp_v75",
    ]


@pytest.fixture
def fresh(tmp_path: Path) -> SdkRepo:
    return own_repo(tmp_path)


def test_a_mistake_in_a_source_is_told_with_the_compilers_lines(fresh: SdkRepo):
    fresh.write("udo/MyAdd.cpp", SOURCE.replace("return 0;", "return 0"))

    done = fresh.doit(HERE)
    told = done.out + done.err

    assert done.code != 0
    assert "recipes/own.yaml:" in told
    assert "make failed with exit code 2" in told
    assert "src/ops/MyAdd.cpp:7" in told
    assert re.search("expected .;.", told)  # quotes are the locale's
    assert "HEXAGON_SDK_ROOT=" in told
    assert "make -C package/MyAddOpPackage htp_x86" in " ".join(told.split())


CODE = """\
const char *ops[] = {"MyAdd", 0};
const void *op_pkg_init(void) { return 0; }
int MyAddOpPackageInterfaceProvider(const char ***told) { *told = ops; return 0; }
"""


def test_a_library_that_comes_built_goes_the_same_way(fresh: SdkRepo):
    fresh.write("udo/add.c", CODE)
    (fresh.root / "udo/x86").mkdir()
    made, source = fresh.root / "udo/x86/libMyAdd.so", fresh.root / "udo/add.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    for where, machine in (("arm64", ARM64), ("v79", HEXAGON)):
        (fresh.root / "udo" / where).mkdir()
        (fresh.root / "udo" / where / "libMyAdd.so").write_bytes(library((INTERFACE,), machine))
    files = (
        "library: ../udo/x86/libMyAdd.so\n      on_device: {CPU: ../udo/arm64/libMyAdd.so, HTP: "
    )
    recipe = RECIPE.format(chips="SM8750").replace(
        "sources: ../udo/*.cpp", files + "../udo/v79/libMyAdd.so}"
    )
    fresh.write("recipes/own.yaml", recipe)

    done = fresh.doit()

    folder = fresh.root / "build/own/SM8750"
    assert done.code == 0, done.out + done.err
    assert not [name for name in done.ran if name.startswith(("skeleton", "op-package"))]
    assert sorted(p.parent.name for p in folder.glob("op_packages/*/libMyAdd.so")) == ["cpu", "htp"]


def test_a_definition_that_is_none_is_told_with_the_generators_lines(fresh: SdkRepo):
    fresh.write("udo/MyAddOpPackage.xml", DEFINITION.replace("<Shape><Rank>1D</Rank></Shape>", ""))

    done = fresh.doit("skeleton/own/own/MyAddOpPackage")
    told = done.out + done.err

    assert "recipes/own.yaml:" in told
    assert "qnn-op-package-generator failed with exit code 1" in told
    assert "Missing child element Shape/Rank" in told


@pytest.mark.parametrize("route", ["cpp", "dlc"])
def test_ranges_are_measured_with_a_package_for_the_cpu_and_shapes_told_by_a_third(
    fresh: SdkRepo, route: str
):
    fresh.write("udo/cpu/MyAddCpu.xml", CPU_DEFINITION)
    fresh.write("udo/cpu/MyAdd.cpp", CPU_SOURCE)
    fresh.write("udo/shapes/shapes.cpp", SHAPES)
    recipe = RECIPE.format(chips="SM8750").replace(
        "precision: fp16",
        "precision: w8a16\n    calibration: {random: 2}\n"
        f"    options: {{qairt: {{route: {route}}}}}",
    )
    more = (
        "      converter: ../udo/shapes/shapes.cpp\n"
        "      measured_by:\n"
        "        interface: MyAddOpPackageInterfaceProvider\n"
        "        xml: ../udo/cpu/MyAddCpu.xml\n"
        "        sources: ../udo/cpu/*.cpp\n"
    )
    fresh.write("recipes/own.yaml", recipe + more)

    done = fresh.doit()
    manifest = json.loads((fresh.root / "build/own/SM8750/manifest.json").read_text())
    told = manifest["graphs"]["own"]["sdk"]
    words = " ".join([*told["converter"], *told.get("quantizer", ())])

    assert done.code == 0, done.out + done.err
    assert {
        "op-package/own/own/MyAddCpu/all_x86",
        "op-package/own/own/MyAddOpPackage/converter",
    } <= set(done.ran)
    assert "--converter_op_package_lib libConverterOpPackage.so" in words
    assert f"--op_package_lib libMyAddCpu.so:{INTERFACE}" in words


def test_an_sdk_builds_what_the_real_compiler_of_ort_loads(fresh: SdkRepo):
    """The stand-in's library computes nothing, and the real compiler says so after it loaded it."""
    recipe = RECIPE.format(chips="SM8750").replace("toolchain: qairt-2.40", "toolchain: ort")
    fresh.write("recipes/own.yaml", f"{recipe}      built_with: qairt-2.40\n")

    done = fresh.doit("bundle/own@SM8750")

    assert {"skeleton/own/own/MyAddOpPackage", HERE, "packages/own/own"} <= set(done.ran)
    assert "a package of your own operators is refused" in done.out
    assert f"  package:       {LIBRARY}\n" in done.out


def test_what_the_package_computes_is_held_against_recorded_answers(fresh: SdkRepo):
    random = np.random.default_rng(0)
    given = {name: random.standard_normal((1, 8)).astype(np.float32) for name in "ab"}
    answer = 1 / (1 + np.exp(-(np.maximum(given["a"], 0) + given["b"])))
    for name, arrays in (("inputs", given), ("answers", {"d": answer})):
        (fresh.root / name).mkdir()
        np.savez(fresh.root / name / "one.npz", **arrays)
    recorded = "verify: {inputs: ../inputs/*.npz, reference: ../answers/*.npz, min_sqnr_db: 40}"
    recipe = RECIPE.format(chips="SM8750").replace("verify: {chips: none}", recorded)
    fresh.write("recipes/own.yaml", recipe)

    done = fresh.doit()
    fresh.write("udo/MyAdd.cpp", SOURCE.replace("a[at] + b[at]", "a[at] - b[at]"))
    wrong = fresh.doit()

    assert done.code == 0, done.out + done.err
    assert "verify/own/own@SM8750" in done.ran
    assert wrong.code != 0
    assert "SQNR" in wrong.out
