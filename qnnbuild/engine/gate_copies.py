"""The copies that the gate has made out of the store, by threads: it has no doit to wait for."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from qnnbuild.actions.record import Record, Tree
from qnnbuild.engine.gate_file import Row, row_of
from qnnbuild.engine.leases import Lease, checkout_of
from qnnbuild.engine.places import BUILD, RECORDS
from qnnbuild.engine.record_files import RecordFiles
from qnnbuild.engine.records import Records
from qnnbuild.engine.signature import RACY_NS, Signature
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Gone, Store
from qnnbuild.engine.whole_folders import WholeFolders
from qnnbuild.errors import Problem, QnnbuildError

if TYPE_CHECKING:
    from qnnbuild.engine.gate_restore import Lacking

MOST_THREADS = 4
"""Copies and digests leave Python's lock; what is between them does not."""


class Came(NamedTuple):
    seconds: float  # what making the bundle took
    warnings: tuple[str, ...]
    rows: Mapping[bytes, Row]  # of its files as they are now in build/


def copies(root: Path, folder: Path, lacking: Sequence[Lacking], came: dict[str, Came]) -> None:
    """Put bundles out of the store `folder` into build/; `came` gets them by where they land."""
    with suppress(QnnbuildError, OSError):  # the build meets it again, and tells it
        lease = Lease.take(folder, checkout_of(root))
        try:
            stats = Stats()
            store = Store(folder, stats, only_look=True)
            store.sweep()  # no build with a plan may come here for long
            _Copying(root, store, lacking, came).run()
            _keep(root, folder, stats)
        finally:
            lease.end()


def _keep(root: Path, folder: Path, stats: Stats) -> None:
    """The digests of what came, so that no build reads all of it again."""
    records = Records(folder / RECORDS, checkout_of(root), _tell)
    try:
        records.keep_stats(stats.news())
    finally:
        records.close()


def _tell(problem: Problem) -> None:
    from qnnbuild.engine.sharing import tell  # what it imports is for a server

    tell(problem)


class _Filled(NamedTuple):
    one: Lacking
    record: Record
    tree: Tree
    new: Path
    rows: Mapping[str, Row]
    since_ns: int  # by the monotonic clock


class _Copying:
    def __init__(
        self, root: Path, store: Store, lacking: Sequence[Lacking], came: dict[str, Came]
    ) -> None:
        self.top = root / BUILD
        self.store = store
        self.records = RecordFiles(store.root)
        self.whole = WholeFolders(store)
        self.came = came
        self._todo = deque(lacking)
        self._threads: list[threading.Thread] = []
        self._bug: BaseException | None = None

    def run(self) -> None:
        try:
            self._begin(min(len(os.sched_getaffinity(0)), MOST_THREADS, len(self._todo)))
            self._end()
        finally:  # a signal may come at any place above
            self._todo.clear()
            self._end()
            self.whole.close()
        if self._bug is not None:
            raise self._bug

    def _begin(self, count: int) -> None:
        for _ in range(count):
            thread = threading.Thread(target=self._run, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the machine has no more of them
                break
            self._threads.append(thread)

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        """Until nothing is left."""
        try:
            self._copy()
        except (QnnbuildError, OSError):  # the build meets it again, and tells it
            self._todo.clear()
        except BaseException as error:  # noqa: BLE001 - of ours, to be seen where it can be
            self._todo.clear()
            self._bug = error

    def _copy(self) -> None:
        """Move each when the times of its files are no longer fresh.

        Until then nobody else can write to them, and who does it later leaves another time.
        """
        waiting: deque[_Filled] = deque()
        while (one := self._next()) is not None:
            filled = self._filled(one)
            if filled is not None:
                waiting.append(filled)
            while waiting and time.monotonic_ns() - waiting[0].since_ns > RACY_NS:
                self._move(waiting.popleft())
        for filled in waiting:
            time.sleep(max(filled.since_ns + RACY_NS - time.monotonic_ns(), 0) / 1e9)
            self._move(filled)

    def _next(self) -> Lacking | None:
        try:
            return self._todo.popleft()
        except IndexError:  # another thread had the last one
            return None

    def _filled(self, one: Lacking) -> _Filled | None:
        folder = self.top / one.landed.lands
        record = self.records.get(one.landed.key)
        if record is None or os.path.lexists(folder) or not self.whole.reaches(folder.parent):
            return None
        (tree,) = record.outputs.values()
        if tree.files.keys() != one.files:
            return None
        try:
            new = self.whole.fill(tree)
        except Gone:  # collected, damaged, or in a remote cache alone: the build knows what to do
            return None
        rows = {name: row_of(new / name) for name in tree.files}
        return _Filled(one, record, tree, new, rows, time.monotonic_ns())

    def _move(self, filled: _Filled) -> None:
        lands = filled.one.landed.lands
        if not self.whole.move(filled.new, self.top / lands):
            return
        rows = {os.fsencode(f"{BUILD}/{lands}/{name}"): row for name, row in filled.rows.items()}
        for name, row in filled.rows.items():
            digest, _ = filled.tree.files[name]
            self.store.stats.know(self.top / lands / name, digest, Signature(*row))
        self.came[lands] = Came(filled.record.seconds, filled.record.warnings, rows)
