"""The gate: one pass of stat over what the last complete builds read and made.

A group (a model: its recipe, sources, artifacts and bundles) goes behind the gate after a build in
which all of its actions were looked at, none ran, and none of its files changed meanwhile. From
then on equal signatures stand for the whole group, and nothing of it is read or planned. The gate
only ever saves work: without its file everything is looked at.

That all is as it was is seen by a `glance`; what it means for each group is told here. A build of
nothing by doit imports this and little more, so it imports little: no dataclasses, for one, which
take as long as the look at ten thousand files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from qnnbuild.engine import glance
from qnnbuild.engine.gate_file import (
    ABSENT,
    COMMON,
    Content,
    Group,
    Landed,
    Row,
    content_of,
    group_of,
    numbers_by_group,
    recipes_in,
    row_of,
    write,
)
from qnnbuild.engine.glance import Glance
from qnnbuild.engine.signature import RACY_NS

Touched = Mapping[str, Mapping[bytes, Row]]
"""Of each group that is not as it was, the files that are not."""


class Restored(NamedTuple):
    """A bundle that came back by what the gate knows."""

    name: str
    group: str
    seconds: float  # what making it took
    warnings: tuple[str, ...]


_came: dict[str, list[Restored]] = {}
"""Of each root: who looks a second time is to tell them as well."""


class Looked(NamedTuple):
    """A group that this build looked at, all of it current in the end."""

    name: str
    recipe: str
    names: Sequence[str]
    saved_s: float
    files: Iterable[str | Path]
    ran: bool  # whether something of it was made just now
    landed: Sequence[Landed] = ()


class Gate:
    """What was known of a checkout, compared with what is there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = gate_file(root)
        self.began: Row = ABSENT  # the signature of the gate's own file
        self.groups: dict[str, Group] = {}
        self.touched: Touched = {}
        self.mark = ""
        self.folders: Mapping[str, Sequence[str]] = {}  # that hold recipes → the names that count
        self.facts: Mapping[str, Any] = {}
        self.ends: Mapping[str, Row] = {}  # what the end of a build writes anew
        self.listed: Sequence[str] | None = None  # the recipes; None: groups mean nothing
        self.gone: Sequence[str] = ()  # of the ends, what is not there
        self.is_as_seen = True  # False: we have put something back since
        self.came = _came.setdefault(os.path.abspath(root), [])  # back, by this process
        self.closed: dict[str, Group] = {}
        self.recipes: tuple[str, ...] | None = None
        """The recipes that are to be looked at; None: everything, with no memory of before."""

    @property
    def is_shut(self) -> bool:
        """Whether everything is as it was."""
        return self.recipes == ()


def gate_file(root: Path) -> Path:
    return Path(glance.gate_file(root))


def look(root: Path, seen: Glance | None = None) -> Gate:
    """Compare what is there with what was known; reads the gate's file and writes nothing.

    `seen` is a glance of just now, where there was one.
    """
    gate = Gate(root)
    seen = seen or glance.glance(root)
    gate.began = Row._make(seen.began)
    content = None if seen.parts is None else content_of(seen.parts)
    if content is None:
        return gate
    gate.mark, gate.folders, gate.facts = content.mark, content.folders, content.facts
    gate.ends = content.ends
    gate.groups = {group.name: group for group in content.groups}
    with _opened(root) as folder:
        gate.touched = {
            group.name: {(path := group.among.paths[n]): row_of(path, folder) for n in numbers}
            for group, numbers in numbers_by_group(content.groups, seen.changed)
        }
        others = [path for n, path in enumerate(gate.ends) if n in set(seen.changed)]
        replaced = any(row_of(os.fsencode(path), folder) != ABSENT for path in others)
    common = gate.groups.get(COMMON)
    if common is None or COMMON in gate.touched or not common.closed or replaced:
        return gate
    gate.listed = _listed(gate)
    gate.gone = others
    close(gate)
    return gate


def close(gate: Gate) -> None:
    """Say what is behind the gate, now that `touched` and `gone` are known."""
    if gate.listed is None or gate.gone:
        return
    gate.closed = {
        name: group
        for name, group in gate.groups.items()
        if name != COMMON and group.closed and name not in gate.touched
    }
    behind = {group.recipe for group in gate.closed.values()}
    gate.recipes = tuple(recipe for recipe in gate.listed if recipe not in behind)


def _listed(gate: Gate) -> list[str] | None:
    """The recipes that are there; None when one that was known, or a folder, is gone."""
    found = glance.listed(gate.root, gate.folders)
    for folder, known in gate.folders.items():
        new = set(found[folder]).difference(known)
        if not set(known) <= set(found[folder]) or any(name.endswith("/") for name in new):
            return None
    left_out = set(gate.facts.get("left_out", ()))
    return [recipe for recipe in recipes_in(found) if recipe not in left_out]


# --- after a build --------------------------------------------------------------------------


def keep(
    gate: Gate,
    looked: Iterable[Looked],
    *,
    common: Iterable[str | Path],
    folders: Iterable[str],
    recipes: Iterable[str],
    finished: Iterable[str | Path],
    store: Path | None = None,
) -> None:
    """Remember what this build looked at.

    `recipes` are all files that were taken for recipes, `finished` what the end of each build
    writes anew, `store` the folder out of which bundles can come back. When someone else wrote the
    gate since, a second build or `doit forget`, theirs stands.
    """
    from qnnbuild.engine.kept_ends import (
        keep_ends,  # a build of nothing would import it for nothing
    )

    gate.file.parent.mkdir(parents=True, exist_ok=True)
    with _opened(gate.root) as folder:
        if row_of(os.fsencode(gate.file), folder) != gate.began:
            return
        then = _AtTheStart(gate)
        files = [*common, *own_files()]
        if gate.recipes is not None:
            # this build saw some of the plan only; what the rest depends on stays watched
            files += map(os.fsdecode, gate.groups[COMMON].paths)
        everyone = Looked(name=COMMON, recipe="", names=(), saved_s=0.0, files=files, ran=False)
        shared = _group(gate, everyone, then, folder, closed=True)
        groups = {} if gate.recipes is None else dict(gate.closed)
        for group in looked:
            groups[group.name] = _group(gate, group, then, folder, closed=shared.closed)
        ends = [_inside(gate.root, path) for path in finished]
        rows = {os.fsdecode(path): row_of(path, folder) for path in ends}
    listed = glance.listed(gate.root, folders)
    facts = {
        "left_out": _left_out(gate, listed, set(recipes)),
        "kept": keep_ends(gate, rows),
        "store": None if store is None else os.path.abspath(store),
    }
    marked = glance.mark(gate.root)
    write(gate.file, Content(marked, listed, facts, [shared, *groups.values()], rows))


def renew(gate: Gate, groups: Mapping[str, Group], ends: Mapping[str, Row]) -> None:
    """Take what came back just now: all bundles of `groups`, and what the end of a build writes.

    As with `keep`, a gate that someone else wrote stands.
    """
    gate.groups |= groups
    gate.touched = {name: rows for name, rows in gate.touched.items() if name not in groups}
    gate.ends = {**gate.ends, **ends}
    gate.gone = [path for path in gate.gone if path not in ends]
    with _opened(gate.root) as folder, suppress(OSError):  # without it all is looked at once more
        if row_of(os.fsencode(gate.file), folder) == gate.began:
            groups_now = [*gate.groups.values()]
            write(gate.file, Content(gate.mark, gate.folders, gate.facts, groups_now, gate.ends))
            gate.began = row_of(os.fsencode(gate.file), folder)
    close(gate)


class _AtTheStart:
    """The signatures of all known files when this build began.

    Most builds ask for those of one model and of what all have in common.
    """

    def __init__(self, gate: Gate) -> None:
        self._known: dict[bytes, Row] = {}
        for different in gate.touched.values():
            self._known.update(different)
        self._groups = dict(gate.groups)

    def row(self, path: bytes, group: str) -> Row | None:
        """`group` is where it most likely was."""
        for name in (group, *self._groups):
            if path in self._known:
                break
            if name in self._groups:
                for known, row in self._groups.pop(name).rows():
                    self._known.setdefault(known, row)
        return self._known.get(path)


def _group(gate: Gate, looked: Looked, then: _AtTheStart, folder: int, *, closed: bool) -> Group:
    paths = {_inside(gate.root, file) for file in (looked.recipe or None, *looked.files) if file}
    rows = {path: row_of(path, folder) for path in sorted(paths)}
    settled = time.time_ns() - RACY_NS
    return group_of(
        name=looked.name,
        recipe=looked.recipe,
        closed=closed
        and not looked.ran
        and all(
            max(row.mtime_ns, row.ctime_ns) < settled and then.row(path, looked.name) == row
            for path, row in rows.items()
        ),
        saved_s=looked.saved_s,
        names=looked.names,
        rows=rows,
        landed=looked.landed,
    )


def _left_out(gate: Gate, folders: Mapping[str, Sequence[str]], recipes: set[str]) -> list[str]:
    """YAML files beside the recipes that are none."""
    if gate.recipes is not None:
        return sorted({*gate.facts.get("left_out", ()), *gate.recipes} - recipes)
    return sorted(path for path in recipes_in(folders) if path not in recipes)


def forget(root: Path) -> None:
    """Look at everything next time."""
    gate_file(root).unlink(missing_ok=True)


def own_files() -> Iterator[str]:
    """The code and data of this package."""
    waiting = [glance.PACKAGE]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        waiting.append(entry.path)
                elif entry.name.endswith((".py", ".yaml", ".json")):
                    yield entry.path


def _inside(root: Path, path: str | Path) -> bytes:
    """Relative to the root where it lies in it: shorter for the kernel to walk."""
    text = os.path.join(os.path.abspath(root), path)
    top = os.path.join(os.path.abspath(root), "")
    return os.fsencode(text.removeprefix(top))


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A folder as a descriptor: stat from it needs no current folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
