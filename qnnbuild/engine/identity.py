"""What tools and code are on this machine: their identity, as it enters keys."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.digest import Digest, digest_bytes, digest_json
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import ToolError

LIBRARY = re.compile(r"\.so(\.\d+)*$")


class Identity:
    """Measures each tool once a run. "package:NAME" is a Python package, "python" the interpreter."""

    def __init__(self, stats: Stats) -> None:
        self.stats = stats
        self._found: dict[str, str] = {}

    def of(self, action: Action) -> Mapping[str, str]:
        names = list(action.tools)
        if action.call:
            names.append(f"code:{action.call.partition(':')[0]}")
        return {name: self.measure(name) for name in names}

    def measure(self, name: str) -> str:
        found = self._found.get(name)
        if found is None:
            kind, _, rest = name.partition(":")
            found = self._found[name] = _KINDS[kind](self, rest)
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
        """Relative name → digest. Libraries are read, for they are the tools; the rest is as recorded."""
        contents = {}
        for file in package.files or []:
            if ".dist-info" in file.parts[0] or file.parts[0] == ".." or file.suffix == ".pyc":
                continue
            if file.hash is None or LIBRARY.search(file.name):
                digest = self.stats.digest(Path(str(file.locate())))
                contents[file.as_posix()] = digest or "missing"
            else:
                contents[file.as_posix()] = file.hash.value
        return contents

    def _code(self, module: str) -> str:
        """The module and all of its own package that it imports, found without running it."""
        texts = [[path.name, self._text(path)] for path in self.code_files(module)]
        return f"sha256:{digest_json(texts)}"

    def code_files(self, module: str) -> tuple[Path, ...]:
        """The files that `_code` reads: sources, and the JSON data that lies beside each."""
        files: dict[Path, None] = {}
        for path in _closure(module):
            files[path] = None
            data = path.with_suffix(".json")
            if data.exists():
                files[data] = None
        return tuple(sorted(files))

    def _text(self, path: Path) -> Digest:
        return self.stats.digest(path) or digest_bytes(b"")

    def _python(self, _: str) -> str:
        return self._version

    @cached_property
    def _version(self) -> str:
        return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"

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
            if kind == "package":
                package = importlib.metadata.distribution(name)
                for file in package.files or []:
                    if LIBRARY.search(file.name) or file.name == "RECORD":
                        yield Path(str(file.locate()))


_KINDS = {
    "package": Identity._package,
    "packages": Identity._packages,
    "code": Identity._code,
    "python": Identity._python,
}


def _closure(module: str) -> list[Path]:
    top = module.partition(".")[0]
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            continue
        path = found[name] = Path(spec.origin)
        waiting.extend(n for n in _imports(name, path) if n.partition(".")[0] == top)
    return list(found.values())


def _imports(name: str, path: Path) -> Iterator[str]:
    is_package = path.name == "__init__.py"
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                kept = parts[: len(parts) - node.level + is_package]
                base = ".".join([*kept, base] if base else kept)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if _exists(base, alias.name))


def _exists(base: str, name: str) -> bool:
    """Whether `from base import name` names a module rather than something in it."""
    spec = importlib.util.find_spec(base)
    folders = spec.submodule_search_locations if spec else None
    return any(
        (Path(f) / f"{name}.py").exists() or (Path(f) / name / "__init__.py").exists()
        for f in folders or []
    )

