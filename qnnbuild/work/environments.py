"""Environments of pinned packages, made once and reused for the same requirements."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qnnbuild.digest import digest_json
from qnnbuild.work.commands import Ended, run_command
from qnnbuild.work.pip import QUIET, pip_env
from qnnbuild.work.run import Run, WorkError

ENVS = "QNNBUILD_ENVS"
"""Names the folder where environments are kept; without it they last as long as the run."""

PLACE = "source.requirements"
EARLIEST = "315532800"  # 1980: what zip files can tell
READY = "qnnbuild-ready"
"""The file that says that an environment is whole; it holds what pip check warned of."""

PINNED = re.compile(r"[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\])?\s*={2,3}\s*[^\s;*,]+\s*(;.*)?")
OPTIONS = (
    *("--index-url", "-i", "--extra-index-url", "--no-index", "--trusted-host", "--pre"),
    *("--only-binary", "--no-binary", "--prefer-binary", "--require-hashes"),
)


def surroundings(run: Run, *, place: str = PLACE) -> tuple[Path, dict[str, str]]:
    """Where the Python of the user's code is, and the variables that it gets.

    With an input "requirements" an environment of its own, else qnnbuild's. `place` is where the
    user wrote the requirements.
    """
    if "requirements" in run.inputs:
        (requirements,) = (p for p in run.inputs["requirements"].rglob("*") if p.is_file())
        envs = Path(os.environ.get(ENVS) or "envs")
        base = environment(run, requirements, envs, place=place)
    else:
        base = Path(sys.prefix)
    return base, {
        "PATH": f"{base / 'bin'}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(_empty("command-home")),
        "TMPDIR": str(_empty("command-tmp")),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": EARLIEST,
    }


def _empty(name: str) -> Path:
    folder = Path(name).resolve()
    folder.mkdir()
    return folder


def environment(run: Run, requirements: Path, envs: Path, *, place: str = PLACE) -> Path:
    """The folder, in `envs`, of an environment with exactly the packages that are listed."""
    lines = tuple(logical_lines(requirements.read_text(encoding="utf-8-sig")))
    _check_pinned(requirements, lines, place)
    python = [platform.python_implementation(), platform.python_version()]
    machine = [platform.machine(), sys.platform]
    folder = envs.resolve() / digest_json([list(lines), python, machine])[:32]
    with _locked(folder):
        python_is_there = (folder / "bin" / "python").exists()  # a link; what it names may be gone
        if not (python_is_there and (folder / READY).exists()):
            _make(folder, lines, place)
        for line in (folder / READY).read_text(encoding="utf-8").splitlines():
            run.warn(line, place=place)
    return folder


def logical_lines(text: str) -> Iterator[str]:
    """A requirements file without comments, empty lines and line breaks inside a requirement."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        plain = re.sub(r"(^|\s)#.*$", "", line).strip()
        if plain:
            yield " ".join(plain.split())


def _check_pinned(requirements: Path, lines: tuple[str, ...], place: str) -> None:
    loose = [line for line in lines if not _is_pinned(line)]
    if loose:
        raise WorkError(
            f"{requirements.name} leaves open what gets installed",
            place=place,
            facts=[("not pinned", line) for line in loose],
            hint="write name==version, or a --hash, on every line; `pip freeze` prints such lines",
            exit_code=2,
        )


def _is_pinned(line: str) -> bool:
    if line.startswith("-"):
        return re.split(r"[ =]", line)[0] in OPTIONS
    requirement, _, _ = line.partition(" --")
    return "--hash=" in line or PINNED.fullmatch(requirement) is not None


def _make(folder: Path, lines: tuple[str, ...], place: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # one that was not finished
    scratch = folder.with_name(f"{folder.name}.tmp")
    env = pip_env(os.environ, scratch)
    try:
        venv = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        _need(run_command(venv, env=env), "Python cannot make an environment", place)
        listed = scratch / "requirements.txt"
        listed.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
        # Without its dependencies: what is not listed would be another version tomorrow.
        install = [*pip, "install", *QUIET, "--no-deps", "-r", str(listed)]
        _need(run_command(install, env=env), "pip cannot install the requirements", place)
        checked = run_command([*pip, "check", *QUIET[:2]], env=env)
        (folder / READY).write_text("".join(f"{line}\n" for line in _odd(checked, place)), "utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _need(ended: Ended, message: str, place: str) -> None:
    if ended.code != 0:
        lines = ended.said("ERROR:", "error:", "Error:")
        raise WorkError(
            message,
            place=place,
            facts=[("pip", line.removeprefix("ERROR: ")) for line in lines],
            hint="the index is the one of your pip settings: pip config list",
        )


def _odd(checked: Ended, place: str) -> list[str]:
    """What pip check warns of. A package that is missing is an error: it was never listed."""
    if checked.code == 0:
        return []
    missing = [line for line in checked.last_lines if line.endswith("which is not installed.")]
    if missing:
        raise WorkError(
            "the requirements do not list all that they need",
            place=place,
            facts=[("pip check", line) for line in missing],
            hint="list each package with its version: pip-compile and `pip freeze` do",
            exit_code=2,
        )
    return list(checked.last_lines)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two exports that want one environment make it once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
