"""Whether the disks have room for what a build is going to write: asked before, not when full.

What an action will write is what its last run wrote; an action that never ran counts as nothing.
Where nothing but tools and qnnbuild itself are others than then, its bytes may well be the same:
those that the store has count as nothing, too.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance
from qnnbuild.actions.key import key_parts
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import Digest, Json
from qnnbuild.engine.build_time import NoRoom
from qnnbuild.engine.state import Current
from qnnbuild.engine.store import FICLONE, Store
from qnnbuild.errors import Problem, QnnbuildError, StoreError
from qnnbuild.model.limits import Limits
from qnnbuild.text.amounts import told_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from qnnbuild.engine.builder import Builder

FILES_OF_A_RUN = 16
"""Folders, log and lock of one run."""

HINT = "`qnnbuild store gc` frees what no recipe needs; QNNBUILD_STORE takes another disk"
HINT_OF_BUILD = "`doit clean NAME` takes bundles out of build/ that you do not need there"


@dataclass(kw_only=True)
class Writes:
    """What is going to be written, as far as it is known."""

    outputs: dict[Digest, int] = field(default_factory=dict)  # into the store
    landing: int = 0  # bytes into build/
    landing_files: int = 0
    copies: int = 0  # bytes, gone again afterwards: the inputs of one action
    known: int = 0  # actions that ran before
    unknown: int = 0

    @property
    def stored(self) -> int:
        return sum(self.outputs.values())


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Of one disk."""

    disk: str
    folder: Path
    size: int  # bytes
    files: int
    known_from: str | None = None
    hint: str = HINT


class Room:
    """Looks at the whole build once, and at each action's own needs. Safe between threads."""

    def __init__(
        self,
        store: Store,
        build: Path,
        limits: Limits,
        statvfs: Callable[[Path], os.statvfs_result] = os.statvfs,
    ) -> None:
        self.store = store
        self.build = build
        self.limits = limits
        self.statvfs = statvfs
        self._expected: Collection[str] = ()
        self._lock = threading.Lock()
        self._refused: NoRoom | None = None

    def expect(self, names: Collection[str]) -> None:
        """All that the build looks at; it is summed up only when one of them has to run."""
        self._expected = names

    def check(self, action: Action, builder: Builder) -> None:
        """Raises NoRoom, the same for all, when the whole build has none; else StoreError when
        this action has none by itself: copies of its inputs, and what its last run made."""
        if not self.limits.watches_disk:
            return
        with self._lock:
            expected, self._expected = self._expected, ()
            if expected:
                self._refused = self._refusal(foreseen(expected, builder, self.build))
        if self._refused is not None:
            raise self._refused
        before = builder.before(action.name)
        made = sum(tree.size for tree in before.outputs.values()) if before else 0
        copies = builder.input_bytes(action)
        problem = self._lacks(self._of_store(made + copies, FILES_OF_A_RUN))
        if problem and copies and self._clones():
            problem = self._lacks(self._of_store(made, FILES_OF_A_RUN))
        if problem:
            raise StoreError(
                f"{action.name} does not start: {problem.message}",
                facts=problem.facts,
                hint=problem.hint,
            )

    def _refusal(self, writes: Writes) -> NoRoom | None:
        """Copies count only where they take room, which is tried only where it matters."""
        problem = self._short_of(writes)
        if problem and self._clones():
            there = os.stat(_nearest(self.build)).st_dev == os.stat(self.store.root).st_dev
            landing = 0 if there else writes.landing
            problem = self._short_of(replace(writes, copies=0, landing=landing))
        if problem is None:
            return None
        message = f"{problem.message}; nothing was started"
        return NoRoom(message, facts=problem.facts, hint=problem.hint)

    def _short_of(self, writes: Writes) -> Problem | None:
        near = _nearest(self.build)
        size, files = writes.stored + writes.copies, len(writes.outputs) + FILES_OF_A_RUN
        told = _counted(writes)
        if os.stat(self.store.root).st_dev == os.stat(near).st_dev:
            size, files = size + writes.landing, files + writes.landing_files
            return self._lacks(self._of_store(size, files, told))
        landing = Wanted(
            disk="the disk of build/", folder=near, size=writes.landing,
            files=writes.landing_files, known_from=told, hint=HINT_OF_BUILD,
        )  # fmt: skip
        return self._lacks(self._of_store(size, files, told)) or self._lacks(landing)

    def _of_store(self, size: int, files: int, known_from: str | None = None) -> Wanted:
        return Wanted(
            disk="the store's disk", folder=self.store.root, size=size, files=files,
            known_from=known_from,
        )  # fmt: skip

    def _lacks(self, wanted: Wanted) -> Problem | None:
        disk, floor = self.statvfs(wanted.folder), self.limits.free_disk
        free = disk.f_bavail * disk.f_frsize
        has_files = disk.f_files == 0 or disk.f_favail >= wanted.files  # 0: made as they are wanted
        if free >= wanted.size + floor and has_files:
            return None
        if free >= wanted.size + floor:
            needed, left = f"about {wanted.files:,} files", f"{disk.f_favail:,} files"
        else:
            parts = [f"about {told_size(wanted.size)}"] if wanted.size else []
            parts += [f"{told_size(floor)} that stay free"] if floor else []
            needed, left = ", and ".join(parts), told_size(free)
        known = [("known from", wanted.known_from)] if wanted.known_from else []
        return Problem(
            message=f"{wanted.disk} has too little room",
            facts=(("needed", needed), ("free", left), ("folder", str(wanted.folder)), *known),
            hint=wanted.hint,
        )

    def _clones(self) -> bool:
        """Whether copies in the store's disk take no room (btrfs, XFS), tried."""
        one, other = (self.store.root / "tmp" / f"{uuid4().hex}.try" for _ in range(2))
        with suppress(OSError):
            one.write_bytes(b"\0" * 4096)
            try:
                with one.open("rb") as source, other.open("xb") as to:
                    fcntl.ioctl(to.fileno(), FICLONE, source.fileno())
                return True
            finally:
                for path in (one, other):
                    path.unlink(missing_ok=True)
        return False


def foreseen(names: Iterable[str], builder: Builder, build: Path) -> Writes:
    """What these actions write, as far as they run, if they write what their last runs wrote."""
    writes, whole = Writes(), builder.store.whole
    before = cache(builder.before)
    likeness = Likeness(builder)
    for action in (builder.plan[name] for name in names if not builder.is_current(name)):
        record = before(action.name)
        if record is None:
            writes.unknown += 1
            continue
        writes.known += 1
        made = {file for tree in record.outputs.values() for file in tree.files.values()}
        if likeness.of(action.name):
            made = {(digest, size) for digest, size in made if not whole(digest, size)}
        writes.outputs.update(made)
        writes.copies = max(writes.copies, _copied(action, before))
        if action.lands is not None:
            _add_landing(writes, build / action.lands, record.outputs)
    return writes


class Likeness:
    """Whether an action does what it did the last time, as far as it can be told before."""

    MAY_DIFFER = frozenset({"key_version", "tool", "inputs"})

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[str, bool] = {}

    def of(self, name: str) -> bool:
        """`tool` is let pass: another version mostly makes the same; inputs are looked at."""
        if name not in self._known:
            self._known[name] = self._of(self.builder.plan[name])
        return self._known[name]

    def _of(self, action: Action) -> bool:
        record = self.builder.before(action.name)
        if record is None:
            return False
        now = key_parts(action, {}, {})
        if any(record.parts.get(part) != now[part] for part in now.keys() - self.MAY_DIFFER):
            return False
        then = record.parts.get("inputs")
        if not isinstance(then, dict) or then.keys() != action.inputs.keys():
            return False
        return all(self._is(action, name, one, then[name]) for name, one in action.inputs.items())

    def _is(self, action: Action, name: str, source: Input, then: Json) -> bool:
        if isinstance(source, Provenance):  # it tells of keys, and is small
            return True
        if not isinstance(source, OutputOf):
            try:
                return self.builder.inputs.tree(action, name).digest == then
            except QnnbuildError:  # told when it is this action's turn
                return False
        state = self.builder.state(source.action)
        if isinstance(state, Current):
            return state.record.outputs[source.output].digest == then
        return self.of(source.action)


def _copied(action: Action, before: Callable[[str], Record | None]) -> int:
    """Bytes of what other actions made that this one takes."""
    total = 0
    for source in action.inputs.values():
        if isinstance(source, OutputOf) and (record := before(source.action)) is not None:
            tree = record.outputs.get(source.output)
            total += tree.size if tree is not None else 0
    return total


def _add_landing(writes: Writes, folder: Path, outputs: Mapping[str, Tree]) -> None:
    """What is there already gives its room to what takes its place."""
    for tree in outputs.values():
        for path, (_, size) in tree.files.items():
            if not (folder / path).exists():
                writes.landing += size
                writes.landing_files += 1


def _counted(writes: Writes) -> str | None:
    if not writes.known:
        return None
    told = f"the last runs of {writes.known:,} of {writes.known + writes.unknown:,} actions"
    return f"{told}; the others count as nothing" if writes.unknown else told


def _nearest(folder: Path) -> Path:
    return next(p for p in (folder, *folder.parents) if p.exists())
