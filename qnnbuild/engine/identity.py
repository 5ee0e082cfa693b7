"""What tools and code are on this machine: their identity, as it enters keys."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.digest import Digest, digest_bytes, digest_json
from qnnbuild.engine.closure import Closure
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import Span, ToolError

LIBRARY = re.compile(r"\.so(\.\d+)*$")


class Identity:
    """Measures each tool once. "package:NAME" is a Python package, "python" the interpreter,
    "qairt:TOOLCHAIN/PART" what of Qualcomm's SDK does one kind of work."""

    def __init__(self, stats: Stats, sdks: Sdks | None = None) -> None:
        self.stats = stats
        self.sdks = sdks or Sdks({}, Path(), stats)
        self._found: dict[str, str] = {}
        self._closure = Closure()

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
        return f"{package.version} sha256:{digest_json(self._contents(package))}"

    def _contents(self, package: importlib.metadata.Distribution) -> dict[str, str]:
        """Relative name → digest. Libraries are read, for they are the tools; the rest is as said.

        Raises ToolError when the package does not say which files it has.
        """
        contents = {}
        if package.files is None:
            raise ToolError(
                f"the Python package '{package.metadata['Name']}' has no list of its files",
                hint="install it with pip, in a virtual environment",
            )
        for file in package.files:
            if ".dist-info" in file.parts[0] or file.parts[0] == ".." or file.suffix == ".pyc":
                continue
            if file.hash is None or LIBRARY.search(file.name):
                digest = self.stats.digest(Path(str(file.locate())))
                contents[file.as_posix()] = digest or "missing"
            else:
                contents[file.as_posix()] = file.hash.value
        return contents

    def _code(self, module: str) -> str:
        """The module and all that it imports of its own, found without running it."""
        texts = {name: self._text(path) for name, path in self._named(module).items()}
        return f"sha256:{digest_json(texts)}"

    def code_files(self, module: str) -> tuple[Path, ...]:
        """The files that `_code` reads: sources, and the JSON data that lies beside each."""
        return tuple(self._named(module).values())

    def _named(self, module: str) -> dict[str, Path]:
        named = self._closure.files(module)
        data = {f"{name}.json": path.with_suffix(".json") for name, path in named.items()}
        return named | {name: path for name, path in data.items() if path.exists()}

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
                for file in package.files or []:
                    if LIBRARY.search(file.name) or file.name == "RECORD":
                        yield Path(str(file.locate()))
