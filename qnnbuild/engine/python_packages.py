"""What a Python outside of this one can import, read off its folders: it is not started for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SETTINGS = "pyvenv.cfg"
"""Beside the interpreter of a virtual environment, or one folder up."""

VERSION = re.compile(r"^python(\d+\.\d+)")
INFOS = ("*.dist-info", "*.egg-info", "*.egg")


def packages(python: Path) -> list[str]:
    """Names and versions."""
    return sorted({path.name for folder in package_folders(python) for path in _infos(folder)})


def package_folders(python: Path) -> list[Path]:
    """Folders in which packages lie, each once; those that `*.pth` files name are among them."""
    found: dict[Path, Path] = {}
    for folder in _folders(python):
        for path in (folder, *_named_in(folder)):
            if path.is_dir():
                found.setdefault(path.resolve(), path)
    return list(found.values())


def watched(python: Path) -> Iterator[Path]:
    """What changes when the interpreter or its packages do."""
    yield python
    settings = _settings(python)
    if settings is not None:
        yield settings
    for folder in package_folders(python):
        if folder.name.endswith("-packages"):
            yield folder
        else:  # a checkout, in which anything may come and go
            yield from _infos(folder)
        yield from sorted(folder.glob("*.pth"))


def _infos(folder: Path) -> Iterator[Path]:
    return (path for kind in INFOS for path in sorted(folder.glob(kind)))


def _folders(python: Path) -> Iterator[Path]:
    """As Python's own `site` lays them out, and Debian's."""
    settings = _settings(python)
    real = python.resolve()
    if settings is None:
        yield from _of_prefix(real.parent.parent, _version(real.name))
        return
    told = _told(settings)
    version = _version(f"python{told.get('version') or told.get('version_info') or ''}")
    yield from _of_prefix(settings.parent, version)
    if told.get("include-system-site-packages", "").lower() == "true":
        base = Path(told["home"]).resolve().parent if "home" in told else real.parent.parent
        yield from _of_prefix(base, version)


def _of_prefix(prefix: Path, version: str) -> Iterator[Path]:
    """`version` is a pattern: a name without a number does not tell its own."""
    for lib in (prefix / "lib", prefix / "lib64", prefix / "local/lib"):
        for kind in ("site-packages", "dist-packages"):
            yield from sorted(lib.glob(f"python{version}/{kind}"))
    yield prefix / "lib/python3/dist-packages"  # Debian's, for all versions


def _settings(python: Path) -> Path | None:
    beside = (python.parent / SETTINGS, python.parent.parent / SETTINGS)
    return next((path for path in beside if path.is_file()), None)


def _told(settings: Path) -> dict[str, str]:
    lines = settings.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.partition("=") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _version(name: str) -> str:
    found = VERSION.match(name)
    return found[1] if found else "3.*"


def _named_in(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.glob("*.pth")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            said = line.strip()
            if said and not said.startswith(("#", "import ", "import\t")):
                yield folder / said
