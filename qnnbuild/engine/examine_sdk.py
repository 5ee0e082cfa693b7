"""Looks at one declared SDK: all that the SDK's own three checks look at, and what they do not.

check-linux-dependency.sh and check-python-dependency install what they miss, the first as root;
envcheck only looks. Here each thing is tried where an action would find it, and what is bad comes
with the command that mends it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.engine import sdk_program
from qnnbuild.engine.finding import Finding, tried
from qnnbuild.engine.sdk_parts import PARTS, Part
from qnnbuild.engine.sdks import NDK_FACTS, SDK_YAML, Sdks, find_program
from qnnbuild.errors import QnnbuildError
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import same_version, sdk_version
from qnnbuild.model.sdks import PYTHON
from qnnbuild.work.qairt_sdk import HOST, Sdk, search_path

GLIBC = (2, 35)
"""What the SDK's programs are linked against: that of Ubuntu 22.04."""

LIBRARIES = {
    "libc++.so.1": "libc++1",
    "libc++abi.so.1": "libc++abi1",
    "libunwind.so.1": "libunwind-14",
}
PROGRAMS = {"clang++": "clang", "make": "make", "objcopy": "binutils"}
PACKAGES = {
    "numpy": "numpy<2",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "yaml": "pyyaml",
    "google.protobuf": "protobuf<5",
    "pandas": "pandas",
    "packaging": "packaging",
}
PINNED = {"2.40": {"onnx": "onnx==1.17.0", "onnxruntime": "onnxruntime==1.17.1"}}
"""What was seen to work with a version of the SDK."""

CONVERTERS_LOAD = "lib/python/**/*PyIrGraph*.so"
ALIGNED_NDK = 28
"""The first NDK that aligns libraries for pages of 16 KB by itself."""

Ran = tuple[int, str]
"""Exit code (negative for a signal), and what was said."""


def run(argv: Sequence[str], environment: Mapping[str, str]) -> Ran:
    try:
        done = subprocess.run(
            argv, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=120, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where things are looked for outside of the SDK; tests name other places."""

    libraries: tuple[str, ...] = (
        "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64",
        "/lib64", "/usr/lib",
    )  # fmt: skip
    headers: tuple[str, ...] = ("usr/include/c++/v1", "usr/lib/llvm-*/include/c++/v1")
    top: Path = Path("/")
    glibc: str = os.confstr("CS_GNU_LIBC_VERSION") or "none"
    run: Callable[[Sequence[str], Mapping[str, str]], Ran] = run


def examine_sdk(sdks: Sdks, name: str, machine: Machine | None = None) -> Iterator[Finding]:
    """One finding after the other; what lies in a folder that is not there is left out."""
    machine = machine or Machine()
    root, folder = _place(f"{name}: folder", lambda: sdks.root(name))
    yield folder
    sdk = sdks.declared[name]
    if root is not None:
        yield _version(sdks, name, root)
        for part, wanted in PARTS.items():
            if not wanted.needed or (wanted.ndk and not sdk.ndk):
                continue
            if not wanted.cross or wanted.cross in sdk.cross:
                yield _part(f"{name}: {part}", root, wanted)
    python, found = _place(f"{name}: Python", lambda: sdks.python(name))
    if python is None:
        yield found
    else:
        yield from _python(name, Sdk(root=root or Path(), python=python, ndk=None), root, machine)
    yield _glibc(name, machine)
    yield _libraries(name, root, machine)
    path = search_path(root, python, _place("", lambda: sdks.ndk(name))[0])
    for word, package in PROGRAMS.items():
        yield _program(f"{name}: {word}", word, package, path)
    yield _headers(name, machine)
    if sdk.ndk is not None:
        yield from _ndk(sdks, name)
    for system in sdk.cross:
        yield _cross(sdks, name, system)
    if sdks.declared[name].hexagon is not None:
        yield _place(f"{name}: Hexagon SDK", lambda: sdks.hexagon(name))[1]


def _place(what: str, looked_up: Callable[[], Path]) -> tuple[Path | None, Finding]:
    try:
        path = looked_up()
    except QnnbuildError as error:
        return None, _told_by(what, error)
    return path, Finding(what=what, good=True, found=str(path))


def _told_by(what: str, error: QnnbuildError) -> Finding:
    problem = error.problems[0]
    found = problem.message.partition(" is not here: ")[2] or problem.message
    facts = [value for _, value in problem.facts]
    said = ": ".join([found, *facts[:1]])
    return Finding(what=what, good=False, found=said, mend=problem.hint)


def _version(sdks: Sdks, name: str, root: Path) -> Finding:
    what, wanted = f"{name}: {SDK_YAML}", sdks.declared[name].version
    path = root / SDK_YAML
    try:
        found = sdk_version(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, FormatError) as error:
        said = "missing" if isinstance(error, OSError) else f"says no version: {error}"
        mend = f"root: the folder that has {SDK_YAML}, bin and lib in it, not {root}"
        return Finding(what=what, good=False, found=said, mend=mend)
    return tried(
        what=what,
        good=same_version(wanted, found),
        found=found,
        mend=f"root: the folder of {wanted}, or call this toolchain qairt-{found}",
    )


def _part(what: str, root: Path, wanted: Part) -> Finding:
    """All files of one kind of work; what is started itself, and not by Python, may be run."""
    missing = [name for name in wanted.needed if not (root / name).is_file()]
    if missing:
        mend = f"unpack the SDK's archive again: {root} is not whole"
        return Finding(what=what, good=False, found=f"missing: {', '.join(missing)}", mend=mend)
    started = [name for name in wanted.needed if name.startswith("bin/") and not wanted.python]
    idle = [name for name in started if not os.access(root / name, os.X_OK)]
    return tried(
        what=what,
        good=not idle,
        found=f"may not be run: {', '.join(idle)}" if idle else "there",
        mend=f"chmod +x {shlex.join(str(root / name) for name in idle)}",
    )


def _python(name: str, sdk: Sdk, root: Path | None, machine: Machine) -> Iterator[Finding]:
    loaded = sorted(root.glob(CONVERTERS_LOAD)) if root else []
    text = Path(sdk_program.__file__).read_text(encoding="utf-8")
    argv = [str(sdk.python), "-c", text, *PACKAGES, *map(str, loaded)]
    code, output = machine.run(argv, sdk.environment())
    said = _told(output)
    if code or said is None:
        last = (output.strip().splitlines() or ["it said nothing"])[-1]
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        yield Finding(
            what=f"{name}: Python",
            good=False,
            found=f"{sdk.python} ended with {how}: {last}",
            mend=f"another Python at python:; {_new_python()}",
        )
        return
    major, minor = said["version"]
    yield tried(
        what=f"{name}: Python",
        good=f"python{major}.{minor}" == PYTHON,
        found=f"{major}.{minor} ({sdk.python})",
        mend=f"the SDK's converters load in {PYTHON} only: {_new_python()}",
    )
    yield _packages(name, sdk.python, said)
    if root is not None:
        yield _loads(name, root, f"{major}{minor}", loaded, said["failed"])


def _told(output: str) -> dict[str, Any] | None:
    """The line that the program ends with; packages may say things of their own before it."""
    for line in reversed(output.splitlines()):
        if line.startswith('{"version": '):
            told: dict[str, Any] = json.loads(line)
            return told
    return None


def _new_python() -> str:
    return (
        f"apt-get install {PYTHON} {PYTHON}-venv lib{PYTHON} && {PYTHON} -m venv FOLDER, and "
        "python: FOLDER/bin/python in qnnbuild.yaml"
    )


def _packages(name: str, python: Path, said: Mapping[str, Any]) -> Finding:
    pins = PINNED.get(name.removeprefix("qairt-")[:4], {})
    there: dict[str, str] = said["packages"]
    bad = {word: text for word, text in said["failed"].items() if word in PACKAGES}
    if there.get("numpy", "1").partition(".")[0] not in ("0", "1"):
        bad["numpy"] = f"numpy {there['numpy']} is not below 2"
    asked = [pins.get(word, PACKAGES[word]) for word in PACKAGES if word in bad]
    found = "; ".join(f"{word}: {text}" for word, text in bad.items())
    return tried(
        what=f"{name}: packages",
        good=not bad,
        found=found or ", ".join(f"{word} {version}" for word, version in there.items()),
        mend=f"{python} -m pip install {shlex.join(asked)}",
    )


def _loads(
    name: str, root: Path, python: str, there: Sequence[Path], failed: Mapping[str, str]
) -> Finding:
    """The converters' own library, of which there may be one for each Python."""
    what = f"{name}: libPyIrGraph"
    fits = [
        p for p in there if (re.search(r"PyIrGraph(\d*)", p.name) or [0, ""])[1] in ("", python)
    ]
    if not fits:
        of = f"{python[0]}.{python[1:]}"
        found = f"none for Python {of} in lib/python" if there else "not in lib/python"
        mend = f"python: a {PYTHON}" if there else f"unpack the SDK's archive again: {root}"
        return Finding(what=what, good=False, found=found, mend=mend)
    errors = [failed[str(path)] for path in fits if str(path) in failed]
    return tried(
        what=what,
        good=not errors,
        found=errors[0].partition(": ")[2] if errors else f"loads: {fits[0].name}",
        mend=f"apt-get install lib{PYTHON} libc++1 libc++abi1",
    )


def _glibc(name: str, machine: Machine) -> Finding:
    numbers = tuple(int(n) for n in re.findall(r"\d+", machine.glibc)[:2])
    least = ".".join(map(str, GLIBC))
    return tried(
        what=f"{name}: glibc",
        good=numbers >= GLIBC,
        found=machine.glibc,
        mend=f"its programs need glibc {least}: build on Ubuntu 22.04 or newer, or in the image of "
        "Dockerfile-2.40",
    )


def _libraries(name: str, root: Path | None, machine: Machine) -> Finding:
    """The C++ runtime that the SDK's programs load: its own where it brings one."""
    places = [root / "lib" / HOST] if root else []
    places += [machine.top / folder.lstrip("/") for folder in machine.libraries]
    at = {word: next((p for p in places if (p / word).exists()), None) for word in LIBRARIES}
    missing = [word for word, place in at.items() if place is None]
    return tried(
        what=f"{name}: libc++",
        good=not missing,
        found=f"missing: {', '.join(missing)}"
        if missing
        else ", ".join(dict.fromkeys(str(place) for place in at.values())),
        mend=f"apt-get install {' '.join(LIBRARIES[word] for word in missing)}",
    )


def _program(what: str, word: str, package: str, path: str) -> Finding:
    found = find_program(word, path)
    return tried(
        what=what,
        good=found is not None,
        found=found or "not on this machine",
        mend=f"apt-get install {package}",
    )


def _headers(name: str, machine: Machine) -> Finding:
    folders = [p for pattern in machine.headers for p in machine.top.glob(f"{pattern}/string")]
    return tried(
        what=f"{name}: headers of libc++",
        good=bool(folders),
        found=str(folders[0].parent) if folders else "not on this machine",
        mend="apt-get install libc++-dev libc++abi-dev",
    )


def _cross(sdks: Sdks, name: str, system: str) -> Finding:
    what = f"{name}: compiler for {system}"
    try:
        found = sdks.compilers(name, system)
    except QnnbuildError as error:
        return _told_by(what, error)
    cxx = next((path for path in found if path.name.endswith("++")), found[0])
    return Finding(what=what, good=True, found=str(cxx))


def _ndk(sdks: Sdks, name: str) -> Iterator[Finding]:
    what = f"{name}: NDK"
    ndk, found = _place(what, lambda: sdks.ndk(name))
    if ndk is None:
        yield found
        return
    facts, started = ndk / NDK_FACTS, ndk / "ndk-build"
    text = facts.read_text(encoding="utf-8", errors="replace") if facts.is_file() else ""
    revision = re.search(r"^Pkg\.Revision\s*=\s*((\d+)\S*)", text, re.MULTILINE)
    if revision is None or not started.is_file():
        missing = started.name if revision else f"{NDK_FACTS} with its revision"
        mend = f"ndk: the folder that has {NDK_FACTS} and ndk-build in it, not {ndk}"
        yield Finding(what=what, good=False, found=f"missing: {missing}", mend=mend)
        return
    yield tried(
        what=what,
        good=os.access(started, os.X_OK),
        found=f"{revision[1]} ({ndk})"
        if os.access(started, os.X_OK)
        else f"{started} may not be run",
        mend=f"chmod +x {shlex.quote(str(started))}",
    )
    aligned = int(revision[2]) >= ALIGNED_NDK
    yield Finding(
        what=f"{name}: pages of 16 KB",
        good=True,
        found="by itself" if aligned else f"r{revision[2]} leaves libraries at 4 KB",
        mend=None
        if aligned
        else f"an NDK from r{ALIGNED_NDK} on: Android 15 may load no others, and they are refused",
    )
