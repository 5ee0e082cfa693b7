"""Which packages a Python outside of this one has, by its folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.engine.python_packages import package_folders, packages, watched


def package(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Debian's layout: two Pythons with one prefix."""
    usr = tmp_path / "usr"
    (usr / "bin").mkdir(parents=True)
    for version in ("3.10", "3.11"):
        (usr / f"bin/python{version}").write_text("x")
    (usr / "bin/python3").symlink_to("python3.10")
    package(usr / "lib/python3/dist-packages", "PyYAML-5.4.1.egg-info")
    package(usr / "local/lib/python3.10/dist-packages", "onnx-1.17.0.dist-info")
    package(usr / "local/lib/python3.11/dist-packages", "onnx-1.18.0.dist-info")
    return usr


def venv(top: Path, system: Path, include: str = "false") -> Path:
    (top / "bin").mkdir(parents=True)
    python = top / "bin/python"
    python.symlink_to(system / "bin/python3.10")
    text = f"home = {system}/bin\ninclude-system-site-packages = {include}\nversion = 3.10.12\n"
    (top / "pyvenv.cfg").write_text(text)
    package(top / "lib/python3.10/site-packages", "numpy-1.26.4.dist-info")
    return python


def test_packages_of_a_systems_python_lie_in_debians_folders(system: Path) -> None:
    assert packages(system / "bin/python3.10") == ["PyYAML-5.4.1.egg-info", "onnx-1.17.0.dist-info"]
    assert packages(system / "bin/python3") == packages(system / "bin/python3.10")


def test_those_of_another_version_with_its_prefix_are_not_its_own(system: Path) -> None:
    assert packages(system / "bin/python3.11") == ["PyYAML-5.4.1.egg-info", "onnx-1.18.0.dist-info"]


def test_a_virtual_environment_has_its_own_alone(tmp_path: Path, system: Path) -> None:
    python = venv(tmp_path / "venv", system)
    package(tmp_path / "venv/lib/python3.11/site-packages", "other-1.0.dist-info")

    assert packages(python) == ["numpy-1.26.4.dist-info"]


def test_those_of_the_system_too_where_it_says_so(tmp_path: Path, system: Path) -> None:
    assert packages(venv(tmp_path / "venv", system, include="true")) == [
        "PyYAML-5.4.1.egg-info", "numpy-1.26.4.dist-info", "onnx-1.17.0.dist-info",
    ]  # fmt: skip


def test_a_folder_that_a_pth_file_names_is_one_of_them(tmp_path: Path, system: Path) -> None:
    python = venv(tmp_path / "venv", system)
    package(tmp_path / "more", "pandas-2.2.0.dist-info")
    site = tmp_path / "venv/lib/python3.10/site-packages"
    (site / "a.pth").write_text(f"# a note\nimport os\n\n{tmp_path}/more\nno/such/folder\n")

    assert package_folders(python) == [site, tmp_path / "more"]
    assert packages(python) == ["numpy-1.26.4.dist-info", "pandas-2.2.0.dist-info"]


def test_a_name_without_a_number_may_have_any_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text("x")
    package(tmp_path / "lib/python3.10/site-packages", "onnx-1.17.0.dist-info")

    assert packages(tmp_path / "bin/python") == ["onnx-1.17.0.dist-info"]


def test_what_tells_of_a_change_is_looked_at(tmp_path: Path, system: Path) -> None:
    python = venv(tmp_path / "venv", system)
    site = tmp_path / "venv/lib/python3.10/site-packages"
    (site / "a.pth").write_text(f"{tmp_path}/more\n")
    package(tmp_path / "more", "pandas-2.2.0.dist-info")

    assert set(watched(python)) == {
        python, tmp_path / "venv/pyvenv.cfg", site, site / "a.pth",
        tmp_path / "more/pandas-2.2.0.dist-info",
    }  # fmt: skip
