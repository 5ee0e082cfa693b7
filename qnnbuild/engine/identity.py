"""What tools and code are on this machine: their identity, as it enters keys."""

from __future__ import annotations

import csv
import importlib.metadata
import platform
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from qnnbuild.actions.action import Action
from qnnbuild.digest import Digest, digest_bytes, digest_json
from qnnbuild.engine.closure import Closure, Remembered
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import Span, ToolError

LIBRARY = re.compile(r"\.so(\.\d+)*$")


class Listed(NamedTuple):
    """A file of a package, relative to where it is installed, and the digest that is said of it."""

    name: str
    digest: str


class Identity:
    """Measures each tool once. "package:NAME" is a Python package, "python" the interpreter,
    "qairt:TOOLCHAIN/PART" what of Qualcomm's SDK does one kind of work."""

    def __init__(
        self, stats: Stats, sdks: Sdks | None = None, remembered: Remembered | None = None
    ) -> None:
        self.stats = stats
        self.sdks = sdks or Sdks({}, Path(), stats)
        self._found: dict[str, str] = {}
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._closure = Closure(stats, remembered)
        self._modules: dict[str, dict[str, Path]] = {}
        self._listed: dict[str, list[Listed]] = {}

    def of(self, action: Action) -> Mapping[str, str]:
        names = list(action.tools)
        if action.call:
            names.append(f"code:{action.call.partition(':')[0]}")
        return {name: self._measured(name, action.places.get(name)) for name in names}

    def _measured(self, name: str, at: Span | None) -> str:
        """`at` is where the user asked for what needs this tool, if the action knows."""
        try:
            return self.measure(name)
        except ToolError as error:
            if at is None:
                raise
            problems = [replace(problem, at=problem.at or at) for problem in error.problems]
            raise ToolError.of(problems) from error

    def measure(self, name: str) -> str:
        """Safe between threads for packages, each of which is read once all the same."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            found = self._found.get(name)
            if found is None:
                kind, _, rest = name.partition(":")
                kinds = {
                    "package": self._package,
                    "packages": self._packages,
                    "code": self._code,
                    "python": self._python,
                    "host": self._host,
                    "qairt": self.sdks.measure,
                }
                found = self._found[name] = kinds[kind](rest)
            return found

    def _package(self, name: str) -> str:
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError as error:
            raise ToolError(
                f"the Python package '{name}' is not installed", hint=f"pip install {name}"
            ) from error
        return f"{package.version} sha256:{digest_json(self._contents(name, package))}"

    def _contents(self, name: str, package: importlib.metadata.Distribution) -> dict[str, str]:
        """Relative name → digest. Libraries are read, for they are the tools; the rest is as said.

        Raises ToolError when the package does not say which files it has.
        """
        contents = {}
        for file in self._files_of(name, package):
            first = file.name.partition("/")[0]
            if ".dist-info" in first or first == ".." or file.name.endswith(".pyc"):
                continue
            if not file.digest or LIBRARY.search(file.name):
                digest = self.stats.digest(Path(str(package.locate_file(file.name))))
                contents[file.name] = digest or "missing"
            else:
                contents[file.name] = file.digest
        if not contents and not self._listed[name]:
            raise ToolError(
                f"the Python package '{package.metadata['Name']}' has no list of its files",
                hint="install it with pip, in a virtual environment",
            )
        return contents

    def _files_of(self, name: str, package: importlib.metadata.Distribution) -> list[Listed]:
        """Read once a run: `Distribution.files` makes a path of each of thousands, each time."""
        if name not in self._listed:
            record = package.read_text("RECORD")
            rows = csv.reader(record.splitlines()) if record else _other_list(package)
            self._listed[name] = [
                Listed(row[0], row[1].partition("=")[2] if row[1:] else "") for row in rows if row
            ]
        return self._listed[name]

    def _code(self, module: str) -> str:
        """The module and all that it imports of its own, found without running it."""
        texts = {name: self._text(path) for name, path in self._named(module).items()}
        return f"sha256:{digest_json(texts)}"

    def code_files(self, module: str) -> tuple[Path, ...]:
        """The files that `_code` reads: sources, and the JSON data that lies beside each."""
        return tuple(self._named(module).values())

    def _named(self, module: str) -> dict[str, Path]:
        if module not in self._modules:
            named = self._closure.files(module)
            data = {f"{name}.json": path.with_suffix(".json") for name, path in named.items()}
            there = {name: path for name, path in data.items() if path.exists()}
            self._modules[module] = named | there
        return self._modules[module]

    def _text(self, path: Path) -> Digest:
        return self.stats.digest(path) or digest_bytes(b"")

    def _python(self, _: str) -> str:
        return self._version

    @cached_property
    def _version(self) -> str:
        return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"

    def _host(self, _: str) -> str:
        """What lays out a process's memory, which a few compiles read beyond their own data."""
        libc = " ".join(platform.libc_ver())
        return f"{sys.implementation.name} {platform.python_version()}, {libc}"

    def _packages(self, _: str) -> str:
        """Name and version of every distribution that this Python can import."""
        found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
        return f"sha256:{digest_json(found)}"

    def files(self, action: Action) -> Iterator[Path]:
        """Files whose change changes what this measured for `action`."""
        if action.call:
            yield from self.code_files(action.call.partition(":")[0])
        for tool in action.tools:
            kind, _, name = tool.partition(":")
            if kind == "qairt":
                yield from self.sdks.files(name)
            if kind == "package":
                try:
                    package = importlib.metadata.distribution(name)
                except importlib.metadata.PackageNotFoundError:
                    continue  # its action says so; once it is there, the folder of packages changed
                for file in self._files_of(name, package):
                    if LIBRARY.search(file.name) or file.name.endswith("/RECORD"):
                        yield Path(str(package.locate_file(file.name)))


def _other_list(package: importlib.metadata.Distribution) -> Iterator[list[str]]:
    """Of a package that was installed without a RECORD."""
    return ([str(file)] for file in package.files or ())
