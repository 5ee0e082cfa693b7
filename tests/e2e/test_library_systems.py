"""Libraries for systems beside the host and Android, by compilers that qnnbuild.yaml names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from qnnbuild.model.sdk_systems import CROSS
from tests.e2e.sdk_repo import SdkRepo, sdk_repo
from tests.libraries import X86_64
from tests.standin.lay_out_cross import lay_out_cross

pytestmark = pytest.mark.slow(seconds=30)

UBUNTU = "aarch64-ubuntu-gcc9.4"


def action(system: str) -> str:
    return f"library/sense/model/6/{system}"


ALL = [action(system) for system in CROSS]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SdkRepo:
    """A recipe that asks for each of them, and a compiler for each."""
    folder = tmp_path_factory.mktemp("systems")
    made = sdk_repo(folder)
    recipe = made.root / "recipes/sense.yaml"
    made.write("recipes/sense.yaml", recipe.read_text().replace("[aarch64-android]", f"{[*CROSS]}"))
    declare(made, {system: lay_out_cross(folder, system) for system in CROSS})
    return made


def declare(repo: SdkRepo, cross: dict[str, dict[str, str]]) -> None:
    settings = (repo.root / "qnnbuild.yaml").read_text()
    line = f"    cross: {json.dumps(cross)}\n"
    without = re.sub(r"^    cross: .*\n", "", settings, flags=re.MULTILINE)
    repo.write("qnnbuild.yaml", without.replace("  qairt-2.49:", f"{line}  qairt-2.49:"))


def test_each_system_gets_a_library_of_its_machine(repo: SdkRepo) -> None:
    done = repo.doit(*ALL)
    doctor = repo.qnnbuild("doctor", "qairt-2.40").out

    assert done.code == 0, done.out
    assert set(ALL) <= set(done.ran)
    assert [doctor.count(f": compiler for {system} ") for system in CROSS] == [1] * len(CROSS)


def test_another_compiler_builds_its_own_library_again_and_nothing_else(
    repo: SdkRepo, tmp_path: Path
) -> None:
    systems = {system: lay_out_cross(tmp_path, system) for system in CROSS}
    compiler = tmp_path / UBUNTU / "usr/bin/aarch64-linux-gnu-g++"
    repo.doit(*ALL)
    declare(repo, systems)
    moved = repo.doit(*ALL)
    compiler.write_text(compiler.read_text() + "# another\n")
    changed = repo.doit(*ALL)

    assert moved.ran == []
    assert changed.ran == [action(UBUNTU)]


def test_a_library_of_another_machine_is_an_error(repo: SdkRepo, tmp_path: Path) -> None:
    declare(repo, {UBUNTU: lay_out_cross(tmp_path, UBUNTU, X86_64)} | {
        system: lay_out_cross(tmp_path, system) for system in CROSS if system != UBUNTU
    })  # fmt: skip
    compiler = tmp_path / UBUNTU / "usr/bin/aarch64-linux-gnu-g++"
    compiler.write_text(compiler.read_text() + "# of the host\n")
    done = repo.doit(action(UBUNTU))

    assert done.code == 5
    assert f"libmodel.so is no library for {UBUNTU}" in done.out
    assert re.search(r"it is for:? +x86-64", done.out)
    # the command by hand has what only this system needs
    assert f"QNN_AARCH64_UBUNTU_GCC_94={tmp_path / UBUNTU} " in done.out, done.out


def test_a_compiler_that_is_gone_is_told_before_anything_runs(
    repo: SdkRepo, tmp_path: Path
) -> None:
    declare(repo, {s: dict.fromkeys(lay_out_cross(tmp_path, s), "none") for s in CROSS})
    done = repo.doit(action(UBUNTU))

    assert done.code == 4
    assert "the toolchain qairt-2.40 is not here: there is no such folder" in done.out
    assert f"cross: {{{UBUNTU}: FOLDER}}" in done.out


def test_a_system_without_a_compiler_is_a_mistake_of_the_recipe(repo: SdkRepo) -> None:
    declare(repo, {})
    done = repo.qnnbuild("check")

    assert done.code == 2
    assert f"a library for {UBUNTU} needs a compiler for it, and qairt-2.40 declares none" in (
        done.err
    )
