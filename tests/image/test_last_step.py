"""The image's last step, on a machine laid out as the image is: its doctor lets no hole pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.older_python import older_python
from tests.image.test_scripts import MISSING, archive, digest, script
from tests.standin.lay_out import OLD, lay_out, lay_out_ndk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {MISSING}"),
]
ROOT = Path(__file__).parents[2]
QNNBUILD = Path(sys.executable).parent / "qnnbuild"
MACHINES_OWN = ("clang++", "make", "objcopy", "headers of libc++", "glibc")


def told(top: Path) -> dict[str, str]:
    """What the doctor finds bad that the image brings along itself, not its Ubuntu."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(top),
        "PYTHONPATH": str(ROOT),
        "QNN_SDK_ROOT": str(top / "opt/qairt" / OLD),
        "QAIRT_PYTHON": str(top / "py/bin/python"),
        "ANDROID_NDK_ROOT": str(top / "ndk"),
    }
    done = subprocess.run(
        [QNNBUILD, "doctor", "qairt-2.40", "--json"], cwd=top / "doctor", env=env,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rows = json.loads(done.stdout)
    assert done.returncode == (0 if all(row["good"] for row in rows) else 4)
    found = {row["what"].partition(": ")[2]: row["found"] for row in rows if not row["good"]}
    return {what: text for what, text in found.items() if what not in MACHINES_OWN}


def test_what_the_scripts_install_is_whole_and_a_hole_ends_the_build(tmp_path: Path) -> None:
    zipped = archive(tmp_path, lay_out(tmp_path / "made"))
    (tmp_path / "doctor").mkdir()
    shutil.copy(ROOT / "image/qnnbuild.yaml", tmp_path / "doctor")
    older_python(tmp_path / "py")
    lay_out_ndk(tmp_path).rename(tmp_path / "ndk")

    fetched = script("fetch.sh", zipped.as_uri(), digest(zipped), tmp_path / "fetched.zip")
    installed = script("install_sdk.sh", tmp_path / "fetched.zip", OLD, tmp_path / "opt/qairt")
    whole = told(tmp_path)
    (tmp_path / "py/packages/yaml/__init__.py").write_text("raise ImportError('no libyaml')")
    (tmp_path / "ndk/source.properties").unlink()
    holed = told(tmp_path)

    assert (fetched.returncode, installed.returncode, whole) == (0, 0, {})
    assert holed == {
        "packages": "yaml: ImportError: no libyaml",
        "NDK": "missing: source.properties with its revision",
    }
