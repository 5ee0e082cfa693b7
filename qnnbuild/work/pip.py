"""pip as a program, so that the user's index, proxy and login settings hold."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from qnnbuild.work.commands import Ended, run_command
from qnnbuild.work.packages import FolderPackage, Package, ZipPackage
from qnnbuild.work.run import WorkError

QUIET = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")

# These would move what pip makes to another place, or refuse to run outside an environment.
OVERRULED = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
DROPPED = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DEST", "PIP_DRY_RUN", "PIP_REQUIRE_HASHES")

# pip asks a source distribution for its metadata by running its code with `sys.executable`, also
# for a mere download. This pip has a `sys.executable` that does nothing, so it stops right after
# unpacking, and `--no-clean` leaves there what it has unpacked.
RUNS_NO_CODE = """
import runpy, sys
sys.executable = sys.argv.pop(1)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__")
"""

NOT_THERE = ("No matching distribution found", "Could not find a version")


def pip_env(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The user's settings for pip, with its scratch files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in environ.items() if name not in DROPPED}
    return {**kept, **OVERRULED, "TMPDIR": str(folder.resolve()), "PYTHONNOUSERSITE": "1"}


def download_release(release: str, folder: Path) -> Package:
    """What `release` ("name==version") holds: its wheel, else its source distribution.

    No code of the package runs.
    """
    wheels = folder / "wheels"
    env = pip_env(os.environ, folder / "tmp")
    ended = _download(
        [sys.executable, "-m", "pip"], release, ("--only-binary", ":all:"), wheels, env
    )
    if ended.code == 0:
        (wheel,) = wheels.iterdir()
        return ZipPackage(wheel, wheel.name)
    if any("No module named pip" in line for line in ended.last_lines):
        raise WorkError(
            "this Python has no pip, which downloads packages",
            facts=[("python", sys.executable)],
            hint=f"{sys.executable} -m ensurepip",
        )
    if not any(word in line for line in ended.last_lines for word in NOT_THERE):
        raise _failed(release, [ended])
    return _source_distribution(release, folder, env, ended)


def _source_distribution(
    release: str, folder: Path, env: Mapping[str, str], no_wheel: Ended
) -> Package:
    nothing = shutil.which("false", path=os.defpath) or "/bin/false"
    ended = _download(
        [sys.executable, "-c", RUNS_NO_CODE, nothing],
        release,
        ("--no-binary", ":all:", "--no-build-isolation", "--no-clean"),
        folder / "sources",
        env,
    )
    unpacked = [path for path in (folder / "tmp").glob("pip-download-*/*") if path.is_dir()]
    if len(unpacked) != 1:
        raise _failed(release, [no_wheel, ended])
    top = next(iter(unpacked[0].glob("PKG-INFO")), None)
    name, _, version = release.partition("==")
    if top is None:
        raise _failed(release, [no_wheel, ended])
    return FolderPackage(unpacked[0], f"the source distribution of {release}", f"{name}-{version}")


def _download(
    pip: Sequence[str], release: str, how: Sequence[str], folder: Path, env: Mapping[str, str]
) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    # data needs no fitting Python, so what the package says about Python does not matter
    options = ("--no-deps", "--ignore-requires-python", "--dest", str(folder.resolve()))
    return run_command([*pip, "download", *QUIET, *options, *how, release], env=env)


def _failed(release: str, ended: Sequence[Ended]) -> WorkError:
    lines = dict.fromkeys(line for one in ended for line in one.said("ERROR:"))
    return WorkError(
        f"pip cannot download {release}",
        place="source.pypi",
        facts=[("pip", line.removeprefix("ERROR: ")) for line in lines],
        hint="check name and version; the index is the one of your pip settings: pip config list",
    )
