"""Inputs as contents: which files an input has, their digests, and private copies of them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from qnnbuild.actions.action import Action, SampleFiles, SourceFiles, SourceOnnx
from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest
from qnnbuild.engine.input_sizes import check_size
from qnnbuild.engine.records import Records
from qnnbuild.engine.sample_files import followed
from qnnbuild.engine.shipped_names import check_shipped
from qnnbuild.engine.stats import Stats, is_text
from qnnbuild.engine.store import Gone, Store, copy_and_digest
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.errors import RecipeError, Span, StoreError, did_you_mean
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import read_onnx
from qnnbuild.formats.onnx_parts import count_parts
from qnnbuild.text.letters import all_told, skeleton

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto

STAGED = "model.onnx"
"""What an ONNX file is called inside an action, so that its own name is in no key."""

FEW = 20_000
"""Parts of an ONNX file, weights passed over, up to which it is read here sooner than by onnx."""


class Changed(Exception):
    """An input is not what it was when it was looked at: a source was edited, an artifact went.

    `after_all` is what to tell when it stays so, however often it is tried.
    """

    def __init__(self, after_all: StoreError | None = None) -> None:
        super().__init__()
        self.after_all = after_all


class Inputs:
    """Reads sources below `root`, the repo of recipes."""

    def __init__(self, root: Path, stats: Stats, records: Records, trust: Trust = TRUSTED) -> None:
        self.root = root
        self.trust = trust
        self.stats = stats
        self.records = records

    def files(self, action: Action, name: str) -> dict[str, Path]:
        """The files of a source input: name inside the action → path."""
        source = action.inputs[name]
        if isinstance(source, SourceOnnx):
            found = self._onnx_files(action, name, source)
        elif isinstance(source, SourceFiles):
            found = self._matching(action, name, source)
        else:
            raise TypeError(f"{name} of {action.name} is made, not a source")
        for path in found.values():
            shown = os.path.relpath(path, self.root)
            self.trust.check_inside(path, self.root, shown, _place(action, name))
            check_size(action, name, path, shown, _place(action, name))
        return found

    def watched(self, action: Action, name: str) -> list[Path]:
        """The files of a source input, and the folders where a new file would be one of them."""
        found = list(self.files(action, name).values())
        source = action.inputs[name]
        if isinstance(source, SourceFiles):
            for pattern in source.patterns:
                found += _looked_in(self.root, pattern, folders=isinstance(source, SampleFiles))
        return found

    def tree(self, action: Action, name: str) -> Tree:
        """Digests of a source input as it is now."""
        files = {}
        for inside, path in self.files(action, name).items():
            files[inside] = (self._digest(action, name, path), path.stat().st_size)
        return Tree(files=files)

    def _digest(self, action: Action, name: str, path: Path) -> Digest:
        try:
            digest = self.stats.digest(path)
        except PermissionError as error:
            shown = os.path.relpath(path, self.root)
            raise RecipeError(f"{shown} may not be read", at=_place(action, name)) from error
        if digest is None:
            raise self._missing(action, name, path)
        return digest

    def stage(self, action: Action, name: str, tree: Tree, to: Path) -> None:
        """Real copies of a source input; they are what was digested, or Changed is raised."""
        paths = self.files(action, name)
        if set(paths) != set(tree.files):
            raise Changed
        for inside, (digest, _) in tree.files.items():
            copy = to / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                copied = copy_and_digest(paths[inside], copy)
            except FileNotFoundError as error:
                raise Changed from error
            if copied != digest:
                raise Changed

    def _onnx_files(self, action: Action, name: str, source: SourceOnnx) -> dict[str, Path]:
        path, at = self.root / source.path, _place(action, name)
        check_size(action, name, path, source.path, at)
        files = {STAGED: path}
        for side in self._side_files(path, self._digest(action, name, path), at):
            if not is_inside(side) or not os.path.isfile(path.parent / side):
                continue
            if posixpath.normpath(side) == STAGED:
                raise RecipeError(
                    f"{source.path} has its weights in a file that is called {STAGED}",
                    at=_place(action, name),
                    hint="that is the model's own name while it is built: rename the weights",
                )
            files[side] = path.parent / side
        return files

    def _side_files(self, path: Path, digest: Digest, at: Span | None) -> tuple[str, ...]:
        """Names of external data in the file; the fetch action tells what is wrong with them."""
        names = self.records.side_files(digest)
        if names is None:
            _check_parts(path, os.path.relpath(path, self.root), at)
            names = side_files(path)
            # otherwise it was edited since: staging will find that out
            if self.stats.digest(path) == digest:
                self.records.keep_side_files(digest, names)
        return names

    def _matching(self, action: Action, name: str, source: SourceFiles) -> dict[str, Path]:
        files = {}
        for pattern in source.patterns:
            if not is_inside(pattern):
                raise RecipeError(f"{pattern} is not in this repo", at=_place(action, name))
            found = _found(self.root, pattern, folders=isinstance(source, SampleFiles))
            if not found:
                raise self._missing(action, name, self.root / pattern)
            for path in found:
                inside = path.relative_to(self.root).as_posix()
                if not is_text(inside):
                    raise _no_text(inside, _place(action, name))
                files[inside] = path
        if action.step == "bundle" and name == "files":
            check_shipped(files, _place(action, name))
        return followed(self.root, files) if isinstance(source, SampleFiles) else files

    def _missing(self, action: Action, name: str, path: Path) -> RecipeError:
        shown = os.path.relpath(path, self.root)
        if os.path.isdir(path):
            message, hint = f"{shown} is a folder, a file is wanted", None
        elif os.path.islink(path):
            message, hint = f"{shown} is a link to what is not there: {os.readlink(path)}", None
        else:
            message = f"no such file: {shown}"
            folder = path.parent
            near = sorted(p.name for p in folder.iterdir()) if os.path.isdir(folder) else []
            hint = _twin(path.name, near) or did_you_mean(
                path.name,
                near,
                otherwise="a recipe's paths begin at its own folder",
            )
        return RecipeError(message, at=_place(action, name), hint=hint)


def _place(action: Action, name: str) -> Span | None:
    return action.places.get(name) or action.places.get("source") or action.places.get("graph")


def _twin(name: str, near: Sequence[str]) -> str | None:
    """What is told of a file whose name looks like the one that is wanted."""
    twin = next((n for n in near if skeleton(n) == skeleton(name)), None)
    if twin is None or (name.isascii() and twin.isascii()):
        return None
    ours, theirs = set(name) - set(twin), set(twin) - set(name)
    said = f", not {all_told(sorted(ours))}" if ours else ""
    return f"'{twin}' looks like it and has {all_told(sorted(theirs)) or 'other letters'}{said}"


def _looked_in(root: Path, pattern: str, *, folders: bool) -> list[Path]:
    """The folders whose lists of names decide what a pattern matches."""
    parts = PurePosixPath(pattern).parts
    first = next((i for i, part in enumerate(parts) if any(c in part for c in "*?[")), None)
    if first is None:
        top = root / pattern
        return [top, *_folders_in(top)] if folders and os.path.isdir(top) else []
    top = root.joinpath(*parts[:first])
    if "**" in parts:
        return [top, *_folders_in(top)]
    below = ["/".join(parts[first:end]) for end in range(first + 1, len(parts))]
    return [top, *(p for some in below for p in top.glob(some) if os.path.isdir(p))]


def _folders_in(top: Path) -> list[Path]:
    return [path for path in top.rglob("*") if os.path.isdir(path)]


def _found(root: Path, pattern: str, *, folders: bool) -> list[Path]:
    """The files of one pattern; with `folders` a folder means what is in it."""
    if any(c in pattern for c in "*?["):
        return _glob(root, pattern)
    path = root / pattern
    if folders and os.path.isdir(path):
        return _glob(root, f"{pattern}/**/*")
    return [path] if os.path.isfile(path) else []


def _no_text(name: str, at: Span | None) -> RecipeError:
    shown = os.fsencode(name).decode(errors="backslashreplace")
    return RecipeError(
        f"the name of a file is not UTF-8: {shown}",
        at=at,
        hint="rename it, or write a pattern that leaves it out",
    )


def _glob(root: Path, pattern: str) -> list[Path]:
    """The files that match, sorted. Hidden ones, such as editors leave, only when asked for."""
    if PurePosixPath(pattern).name == "**":
        pattern += "/*"  # up to Python 3.12 a last ** matches no files
    asked = any(part.startswith(".") for part in PurePosixPath(pattern).parts)
    found = (p for p in root.glob(pattern) if os.path.isfile(p))
    return sorted(
        p for p in found if asked or not any(n.startswith(".") for n in p.relative_to(root).parts)
    )


def stage_artifacts(store: Store, tree: Tree, to: Path) -> None:
    """Private copies of what another action made."""
    for inside, (digest, _) in tree.files.items():
        copy = to / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            store.copy(digest, copy)
        except Gone as gone:
            raise Changed from gone


def side_files(path: Path) -> tuple[str, ...]:
    """The external data that an ONNX file names, each once.

    A file that is not a whole ONNX file names none. It is read where it lies: whoever cuts it
    shorter in this moment ends the build.
    """
    with suppress(FormatError):  # onnx takes some that this reader refuses
        view = mapped(path)
        if sum(count_parts(view).values()) < FEW:
            return tuple(side.name for side in read_onnx(view).side_files)
    return _side_files_by_onnx(path.read_bytes())


def _side_files_by_onnx(data: bytes) -> tuple[str, ...]:
    """The same where there is much to read, for which importing onnx is the lesser part."""
    import onnx
    from google.protobuf.message import DecodeError
    from onnx.external_data_helper import uses_external_data

    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return ()
    names: dict[str, None] = {}
    for tensor in _tensors(model.graph):
        if uses_external_data(tensor):
            names.update((e.value, None) for e in tensor.external_data if e.key == "location")
    return tuple(names)


def _check_parts(path: Path, shown: str, at: Span | None) -> None:
    """Raises RecipeError, at the recipe's place, for a graph that nobody would end reading."""
    from qnnbuild.work.onnx_parts import check_parts
    from qnnbuild.work.run import WorkError

    try:
        check_parts(path, shown=shown)
    except WorkError as error:
        raise RecipeError(error.message, at=at, hint=error.hint) from None


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.initializer:
                    yield from _tensors(inner)


def is_inside(name: str) -> bool:
    """Whether a relative path stays in the folder that it starts from."""
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def digests(trees: Mapping[str, Tree]) -> dict[str, Digest]:
    return {name: tree.digest for name, tree in trees.items()}
