"""Looks at the machine: everything that a build needs, tried rather than asked for."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from qnnbuild.engine.examine_sdk import examine_sdk
from qnnbuild.engine.finding import Finding, tried
from qnnbuild.engine.memory import Meter
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import QnnbuildError
from qnnbuild.text.amounts import told_size

NEEDED = (
    "onnxruntime",
    "onnxruntime-qnn",
    "onnx",
    "onnxsim",
    "numpy",
    "doit",
    "PyYAML",
    "jsonschema",
    "rich",
)
FREE_GB = 5
"""A zoo of a dozen models with its store and wheels takes about this much."""
FREE_MEMORY_GB = 2
"""Most models of the zoo compile with less; large ones take six times the size of their weights."""
NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs")


def examine(
    root: Path | None = None, store: Path | None = None, sdks: Sdks | None = None
) -> Iterator[Finding]:
    """One finding after the other; `root` is a repo of recipes when there is one here.

    Then all of each SDK that is declared.
    """
    yield _python()
    yield _host()
    for name in NEEDED:
        yield _package(name)
    yield _randomisation()
    yield _compiler()
    yield _memory()
    if store is not None:
        yield _room(_nearest(store))
        yield _store(store)
    if root is not None:
        yield _loader(root)
    for name in sdks.declared if sdks is not None else ():
        assert sdks is not None
        yield from examine_sdk(sdks, name)


def _python() -> Finding:
    return tried(
        what="Python",
        good=sys.version_info >= (3, 11),
        found=platform.python_version(),
        mend="install Python 3.11 or newer and make the environment with it",
    )


def _host() -> Finding:
    found = f"{platform.system()} {platform.machine()}"
    return tried(
        what="host",
        good=found == "Linux x86_64",
        found=found,
        mend="build on Linux x86-64: the plugin compiles context binaries for all chips only there",
    )


def _package(name: str) -> Finding:
    try:
        return Finding(what=name, good=True, found=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(what=name, good=False, found="not installed", mend=f"pip install {name}")


def _randomisation() -> Finding:
    """Whether a child may switch address randomisation off; some sandboxes forbid it."""
    with tempfile.TemporaryDirectory() as folder:
        said = _run("qnnbuild.work.probe:addresses", Path(folder))
    good = said == "fixed"
    return tried(
        what="address randomisation off",
        good=good,
        found="works" if good else said,
        mend="allow the system call personality(2) (docker: --security-opt seccomp=unconfined); "
        "without it a few models differ from build to build",
    )


def _compiler() -> Finding:
    with tempfile.TemporaryDirectory() as folder:
        said = _run("qnnbuild.work.probe:compiles", Path(folder), warm="qnnbuild.work.warm:load")
    return tried(
        what="a tiny model for SM8750",
        good=said.startswith("made"),
        found=said,
        mend="pip install --force-reinstall onnxruntime onnxruntime-qnn",
    )


def _run(call: str, folder: Path, warm: str = "") -> str:
    """What the work said in its one output, or why it could not."""
    (folder / "out" / "said").mkdir(parents=True)
    (folder / "tmp").mkdir()
    workers = Workers(warm=warm)
    try:
        ended = workers.run(
            folder=folder,
            log=folder / "log",
            deadline_s=120,
            env={"TMPDIR": "tmp"},
            call=call,
            outputs=("said",),
        )
    except QnnbuildError as error:
        return " ".join([error.problems[0].message, *(v for _, v in error.problems[0].facts)])
    finally:
        workers.close()
    said = folder / "out" / "said" / "text"
    if ended.code == 0 and ended.signal == 0 and said.exists():
        return said.read_text(encoding="utf-8")
    lines = (folder / "log").read_text(errors="replace").strip().splitlines() or [
        "nothing was said"
    ]
    return lines[-1]


def _memory() -> Finding:
    """What builds may take: a container can have less of it than the machine."""
    memory = Meter().read()
    return tried(
        what="memory",
        good=memory.available >= FREE_MEMORY_GB * 1e9,
        found=f"{told_size(memory.available)} free of {told_size(memory.total)} "
        f"of {memory.limited_by}",
        mend=f"end other programs, or give the container more: {FREE_MEMORY_GB} GB at least",
    )


def _room(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free / 1e9
    return tried(
        what="free disk",
        good=free >= FREE_GB,
        found=f"{free:.0f} GB",
        mend=f"make room, {FREE_GB} GB at least, or move the store: QNNBUILD_STORE",
    )


def _store(folder: Path) -> Finding:
    nearest = _nearest(folder)
    kind = _file_system(nearest) if nearest.is_dir() else "a file"
    writable = nearest.is_dir() and os.access(nearest, os.W_OK)
    good = writable and kind not in NETWORK_FILE_SYSTEMS
    return tried(
        what="store",
        good=good,
        found=f"{folder} ({kind})",
        mend="use a folder of a local disk that you may write to: QNNBUILD_STORE",
    )


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(p for p in (folder, *folder.parents) if p.exists())


def _file_system(path: Path) -> str:
    """The type of the file system that `path` lies on, as the kernel calls it."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, mounted, name, *_ = line.split()
        if path.resolve().is_relative_to(mounted) and len(mounted) > len(best):
            best, kind = mounted, name
    return kind


def _loader(root: Path) -> Finding:
    """Plain `doit` is quick only when the repo names our loader; a dodo.py alone works too."""
    text = "".join(
        (root / name).read_text(encoding="utf-8", errors="replace")
        for name in ("pyproject.toml", "doit.cfg")
        if (root / name).is_file()
    )
    named = "qnnbuild.bridge.loader" in text
    dodo = (root / "dodo.py").exists()
    found = "named" if named else "dodo.py brings it: a bit slower" if dodo else "nothing names it"
    return Finding(
        what="doit's loader",
        good=named or dodo,
        found=found,
        mend=None if named else "copy doit.cfg and dodo.py from what `qnnbuild init DIR` makes",
    )
