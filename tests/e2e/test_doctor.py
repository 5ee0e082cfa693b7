"""`qnnbuild doctor` on the stand-in of Qualcomm's SDK, with a Python that says it is 3.10."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.sdk_parts import PARTS
from tests.e2e.older_python import IMPORTED, older_python
from tests.e2e.small_repo import SmallRepo
from tests.standin.lay_out import CONVERTERS_LOAD, HOST, lay_out, lay_out_ndk
from tests.standin.loadable import loadable

pytestmark = pytest.mark.slow

SETTINGS = "toolchains:\n  qairt-2.40: {root: SDK, python: py/bin/python, ndk: NDK}\n"
MACHINES_OWN = ("clang++", "make", "objcopy", "headers of libc++", "glibc")
"""What this machine has or has not; tests/unit takes each of these away."""

Change = Callable[[SmallRepo], object]


@pytest.fixture
def repo(tmp_path: Path) -> SmallRepo:
    made = SmallRepo.make(tmp_path / "repo")
    older_python(made.root / "py")
    lay_out(tmp_path).rename(made.root / "sdk")
    lay_out_ndk(tmp_path).rename(made.root / "ndk")
    declared = SETTINGS.replace("SDK", "sdk").replace("NDK", "ndk")
    (made.root / "qnnbuild.yaml").write_text(declared)
    return made


def bad(repo: SmallRepo) -> list[tuple[str, str, str]]:
    """What the SDK or its Python lacks: what, found, and how it is mended."""
    done = repo.qnnbuild("doctor", "qairt-2.40", "--json")
    rows: list[dict[str, Any]] = json.loads(done.out)
    assert done.code == (0 if all(row["good"] for row in rows) else 4)
    told = [
        (row["what"].removeprefix("qairt-2.40: "), row["found"], row["mend"])
        for row in rows
        if not row["good"]
    ]
    return [row for row in told if row[0] not in MACHINES_OWN]


def test_a_whole_sdk_is_a_table_of_what_is_there(repo: SmallRepo) -> None:
    done = repo.qnnbuild("doctor", "qairt-2.40")
    rows = [
        re.split("  +", line.replace(str(repo.root), "TOP").partition(": ")[2])
        for line in done.out.splitlines()
        if line.startswith("ok   qairt-2.40: ")
    ]

    assert [row for row in rows if row[0] not in MACHINES_OWN] == [
        ["folder", "TOP/sdk"],
        ["sdk.yaml", "2.40.0"],
        *([name, "there"] for name, part in PARTS.items() if part.needed and not part.cross),
        ["Python", "3.10 (TOP/py/bin/python)"],
        ["packages", IMPORTED],
        ["libPyIrGraph", "loads: libPyIrGraph310.so"],
        ["libc++", f"TOP/sdk/lib/{HOST}"],
        ["NDK", "29.0.14206865 (TOP/ndk)"],
        ["pages of 16 KB", "by itself"],
    ]


def taken(name: str) -> Change:
    return lambda repo: (repo.root / name).rename(repo.root / "taken")


def idle(name: str) -> Change:
    return lambda repo: (repo.root / name).chmod(0o644)


def says(name: str, text: str) -> Change:
    return lambda repo: (repo.root / name).write_text(text)


def needs(library: str) -> Change:
    return lambda repo: (repo.root / "sdk" / CONVERTERS_LOAD).write_bytes(loadable([library]))


@pytest.mark.parametrize(
    ("change", "what", "found", "mend"),
    [
        (
            taken("sdk"),
            "folder",
            "there is no such folder: sdk",
            "root: the folder that has sdk.yaml, bin and lib in it",
        ),
        (
            says("sdk/sdk.yaml", "version: 2.42.0\n"),
            "sdk.yaml",
            "2.42.0",
            "root: the folder of 2.40, or call this toolchain qairt-2.42.0",
        ),
        (
            taken(f"sdk/bin/{HOST}/qnn-context-binary-generator"),
            "context",
            f"missing: bin/{HOST}/qnn-context-binary-generator",
            "unpack the SDK's archive again: TOP/sdk is not whole",
        ),
        (
            idle(f"sdk/bin/{HOST}/qnn-context-binary-generator"),
            "context",
            f"may not be run: bin/{HOST}/qnn-context-binary-generator",
            f"chmod +x TOP/sdk/bin/{HOST}/qnn-context-binary-generator",
        ),
        (
            taken("py/packages/onnx"),
            "packages",
            "onnx: ModuleNotFoundError: No module named 'onnx'",
            "TOP/py/bin/python -m pip install onnx==1.17.0",
        ),
        (
            needs("libpython3.10.so.77"),
            "libPyIrGraph",
            "libpython3.10.so.77: cannot open shared object file: No such file or directory",
            "apt-get install libpython3.10 libc++1 libc++abi1",
        ),
        (
            taken("ndk/ndk-build"),
            "NDK",
            "missing: ndk-build",
            "ndk: the folder that has source.properties and ndk-build in it, not TOP/ndk",
        ),
    ],
)
def test_what_is_taken_away_is_told_with_its_cure(repo, change: Change, what, found, mend) -> None:
    change(repo)
    told = bad(repo)

    top = str(repo.root)
    assert told[0] == (what, found.replace("TOP", top), mend.replace("TOP", top))
    # without the folder there is no libc++ of its own either
    assert len(told) == 1 or what == "folder"


def test_the_python_that_runs_qnnbuild_is_not_the_sdks(repo: SmallRepo) -> None:
    if sys.version_info[:2] == (3, 10):
        pytest.skip("this Python is the SDK's")
    (repo.root / "py/bin/python").unlink()
    (repo.root / "py/bin/python").symlink_to(sys.executable)

    told = {what: (found, mend) for what, found, mend in bad(repo)}

    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert told["Python"][0] == f"{ours} ({repo.root}/py/bin/python)"
    assert told["Python"][1].startswith("the SDK's converters load in python3.10 only: ")
    assert told["libPyIrGraph"][0] == f"none for Python {ours} in lib/python"


def test_a_toolchain_that_is_not_declared_is_an_error(repo: SmallRepo) -> None:
    done = repo.qnnbuild("doctor", "qairt-2.41")

    assert (done.code, done.out) == (3, "")
    assert done.err == (
        "error: no SDK is declared as 'qairt-2.41'\n  hint: did you mean 'qairt-2.40'? "
        "qnnbuild.yaml declares qairt-2.40\n"
    )
