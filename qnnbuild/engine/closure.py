"""The code that a module runs: its own source and what it imports, found without running any."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import ToolError

OWN = __name__.partition(".")[0]
INSTALLED = ("site-packages", "dist-packages")


class Found(NamedTuple):
    """A module's file (a folder without `__init__.py` has none), and where its submodules lie."""

    file: Path | None
    folders: tuple[Path, ...]


Imported = tuple[int, str, tuple[str, ...]]
"""Of one statement: dots in front, the module, and the names that are taken out of it."""

BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where a statement has others in it."""


class Remembered(Protocol):
    """Keeps what a file imports, by its contents: reading a hundred files takes 0.2 s."""

    def imports(self, digest: Digest) -> tuple[Imported, ...] | None: ...

    def keep_imports(self, found: Mapping[Digest, tuple[Imported, ...]]) -> None: ...


class Closure:
    """Modules of the entry's own package, of qnnbuild, and of what lies beside the package.

    What is installed beside it is left out: that are tools, which an action names in `tools`.
    """

    def __init__(self, stats: Stats | None = None, remembered: Remembered | None = None) -> None:
        self._stats = stats or Stats()
        self._remembered = remembered
        self._new: dict[Digest, tuple[Imported, ...]] = {}
        self._found: dict[str, Found | None] = {}
        self._imported: dict[str, tuple[str, ...]] = {}

    def files(self, module: str) -> dict[str, Path]:
        """Module → file, sorted. The packages that a module lies in run before it: they count."""
        found: dict[str, Path] = {}
        looked: set[str] = set()
        waiting = [module]
        beside = self._beside(module)
        while waiting:
            name = waiting.pop()
            if name in looked or not self._is_ours(name, module, beside):
                continue
            looked.add(name)
            waiting.append(name.rpartition(".")[0])
            here = self._find(name)
            if here is not None and here.file is not None:
                found[name] = here.file
                waiting += self._imports(name, here.file)
        if module not in found:
            raise ToolError(f"no module is named '{module}', which an action calls")
        if self._new and self._remembered is not None:
            self._remembered.keep_imports(self._new)
            self._new = {}
        return dict(sorted(found.items()))

    def _beside(self, module: str) -> Path | None:
        """The folder in which the top package lies, unless things are installed in it."""
        top = _top(module)
        folder = _parent(self._find(top))
        return None if folder is None or folder.name in INSTALLED else folder

    def _is_ours(self, name: str, module: str, beside: Path | None) -> bool:
        top = _top(name)
        if top in (OWN, _top(module)):
            return True
        return bool(top) and beside is not None and _parent(self._find(top)) == beside

    def _find(self, name: str) -> Found | None:
        if name not in self._found:
            parent, _, last = name.rpartition(".")
            if parent:
                package = self._find(parent)
                self._found[name] = _in_folders(package.folders, last) if package else None
            else:
                self._found[name] = _top_level(name)
        return self._found[name]

    def _imports(self, name: str, file: Path) -> tuple[str, ...]:
        """Full names of the modules that `name` imports, whosever they are."""
        if name not in self._imported:
            self._imported[name] = tuple(self._read(name, file))
        return self._imported[name]

    def _read(self, name: str, file: Path) -> Iterator[str]:
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for dots, module, names in self._statements(file):
            if names:
                base = _base(dots, module, package)
                yield base
                # a name that is no module, but something in one, is not found later on
                yield from (f"{base}.{one}" for one in names)
            else:
                yield module

    def _statements(self, file: Path) -> tuple[Imported, ...]:
        known = self._known(file)
        if known is None:
            content = file.read_bytes()
            known = tuple(_imports_of(_parsed(content, file)))
            self._new[digest_bytes(content)] = known
        return known

    def _known(self, file: Path) -> tuple[Imported, ...] | None:
        if self._remembered is None:
            return None
        digest = self._stats.digest(file)
        return None if digest is None else self._remembered.imports(digest)


def _imports_of(tree: ast.Module) -> Iterator[Imported]:
    """Of all statements, however deep; expressions import nothing.

    Records keep what comes of it: who changes it raises their FORMAT.
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((0, alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or "", tuple(alias.name for alias in node.names)
        else:
            for field in BODIES:
                inner = getattr(node, field, None)
                waiting += inner if isinstance(inner, list) else ()


def _top(name: str) -> str:
    return name.partition(".")[0]


def _base(dots: int, module: str, package: str) -> str:
    """What `from` names, in full: one dot is the module's own package, each other one up."""
    if not dots:
        return module
    parts = package.split(".")
    kept = parts[: len(parts) - (dots - 1)]
    return ".".join([*kept, module] if module else kept)


def _parsed(content: bytes, file: Path) -> ast.Module:
    try:
        return ast.parse(content, str(file))
    except SyntaxError as error:
        raise ToolError(f"{file}:{error.lineno}: {error.msg}") from error


def _top_level(name: str) -> Found | None:
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # __main__ and modules that were put together by hand
        return None
    if spec is None:
        return None
    file = Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    return Found(file, tuple(Path(folder) for folder in spec.submodule_search_locations or ()))


def _in_folders(folders: Sequence[Path], name: str) -> Found | None:
    for folder in folders:
        for file in (folder / name / "__init__.py", folder / f"{name}.py"):
            if file.is_file():
                return Found(file, (folder / name,) if file.name == "__init__.py" else ())
    namespaces = tuple(folder / name for folder in folders if (folder / name).is_dir())
    return Found(None, namespaces) if namespaces else None


def _parent(found: Found | None) -> Path | None:
    """The folder that a top-level module or package lies in."""
    if found is None:
        return None
    if found.folders:
        return found.folders[0].parent
    return found.file.parent if found.file else None
