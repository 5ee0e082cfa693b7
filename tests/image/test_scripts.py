"""The image's scripts, run for real: what is downloaded is checked, and the SDK is made whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.standin.lay_out import COMPILED_TOOLS, HOST, OLD, PYTHON_TOOLS, lay_out

IMAGE = Path(__file__).parents[2] / "image"
MISSING = [name for name in ("curl", "unzip", "sha256sum") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {MISSING}")


def script(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(IMAGE / name), *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("sdk"))


def archive(folder: Path, sdk: Path, *, change: Callable[[Path], object] = lambda _: None) -> Path:
    """Without exec bits, as a plain zip tool of another system makes it."""
    root = folder / "in" / "qairt" / OLD
    shutil.copytree(sdk, root)
    change(root)
    made = folder / "sdk.zip"
    with zipfile.ZipFile(made, "w") as zipped:
        for path in sorted((folder / "in").rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(path.relative_to(folder / "in").as_posix())
                info.external_attr = 0o100640 << 16
                zipped.writestr(info, path.read_bytes())
    return made


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_download_with_its_digest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("text")

    done = script(
        "fetch.sh", (tmp_path / "source").as_uri(), digest(tmp_path / "source"), tmp_path / "file"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "file").read_text() == "text"


def test_a_download_with_another_digest_is_not(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("text")

    done = script("fetch.sh", (tmp_path / "source").as_uri(), "0" * 64, tmp_path / "file")

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"fetch.sh: {(tmp_path / 'source').as_uri()} has another digest",
        f"  expected {'0' * 64}",
        f"  found    {digest(tmp_path / 'source')}",
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source"]


@pytest.mark.parametrize("given", ["", "abc", "A" * 64, "0" * 63 + "\n", "0" * 65])
def test_what_is_no_digest_is_refused_before_anything_is_downloaded(tmp_path, given) -> None:
    done = script("fetch.sh", "https://example.invalid/x", given, tmp_path / "file")

    assert done.returncode == 2
    assert "is no sha256" in done.stderr


def test_what_is_not_there_fails(tmp_path: Path) -> None:
    done = script("fetch.sh", (tmp_path / "nothing").as_uri(), "0" * 64, tmp_path / "file")

    assert done.returncode not in (0, 2)
    assert not (tmp_path / "file").exists()


def test_an_sdk_without_exec_bits_gets_them(tmp_path: Path, laid_out: Path) -> None:
    done = script("install_sdk.sh", archive(tmp_path, laid_out), OLD, tmp_path / "opt")

    assert (done.returncode, done.stderr) == (0, "")
    root = tmp_path / "opt" / OLD
    tools = [root / "bin" / HOST / name for name in (*PYTHON_TOOLS, *COMPILED_TOOLS)]
    assert [path.name for path in tools if not os.access(path, os.X_OK)] == []
    assert os.access(root / "bin" / "envsetup.sh", os.X_OK)
    assert root.stat().st_mode & 0o005 == 0o005
    assert (root / "sdk.yaml").stat().st_mode & 0o777 == 0o644
    assert sorted(p.name for p in (tmp_path / "opt").iterdir()) == [OLD]


def unlink(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).unlink()


def says(version: str) -> Callable[[Path], object]:
    return lambda root: (root / "sdk.yaml").write_text(version)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (unlink("sdk.yaml"), f"qairt/{OLD} has no sdk.yaml, which says what version it is"),
        (says("version: 2.42.0\n"), f"qairt/{OLD} says in its sdk.yaml that it is 2.42.0"),
        (says("version: 2.4\n"), f"qairt/{OLD} says in its sdk.yaml that it is 2.4"),
        (says("onnx: 1\n"), f"sdk.yaml of qairt/{OLD} says no version"),
        (
            unlink(f"bin/{HOST}/qnn-model-lib-generator"),
            f"qairt/{OLD} has no bin/{HOST}/qnn-model-lib-generator: the archive is not whole",
        ),
    ],
)
def test_an_archive_that_is_not_that_sdk_is_refused(tmp_path, laid_out, change, said) -> None:
    made = archive(tmp_path, laid_out, change=change)

    done = script("install_sdk.sh", made, OLD, tmp_path / "opt")

    assert (done.returncode, done.stderr) == (1, f"install_sdk.sh: {said}\n")
    assert list((tmp_path / "opt").iterdir()) == []


def test_an_archive_of_another_version_or_of_nothing_is_refused(tmp_path, laid_out) -> None:
    made = archive(tmp_path, laid_out)
    (tmp_path / "text").write_text("text")

    other = script("install_sdk.sh", made, "2.42.0.251225", tmp_path / "opt")
    broken = script("install_sdk.sh", tmp_path / "text", OLD, tmp_path / "opt")

    assert other.stderr == (
        f"install_sdk.sh: the archive has no qairt/2.42.0.251225 in it, but: ./qairt/{OLD}\n"
    )
    assert broken.stderr.splitlines()[-1] == (
        f"install_sdk.sh: {tmp_path / 'text'} cannot be unpacked"
    )
    assert (other.returncode, broken.returncode) == (1, 1)


def test_what_is_installed_is_not_overwritten(tmp_path, laid_out) -> None:
    made = archive(tmp_path, laid_out)
    script("install_sdk.sh", made, OLD, tmp_path / "opt")

    again = script("install_sdk.sh", made, OLD, tmp_path / "opt")

    assert (again.returncode, again.stderr) == (
        1,
        f"install_sdk.sh: {tmp_path / 'opt' / OLD} is there already\n",
    )
