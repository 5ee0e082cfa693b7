"""Folders that come as a whole: filled in the store, then moved with one rename."""

from __future__ import annotations

import errno
import itertools
import os
import threading
from contextlib import ExitStack
from pathlib import Path

from qnnbuild.actions.record import Tree
from qnnbuild.engine.store import Store, remove

NOT_FREE = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.ENOENT, errno.EXDEV)
"""Somebody else put something there just now or took the folder above away, or it is a mount that
looks like the same disk."""


class WholeFolders:
    """Safe between threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._held = ExitStack()
        self._private: Path | None = None
        self._new = itertools.count()
        self._reached: dict[Path, bool] = {}

    def reaches(self, parent: Path) -> bool:
        """Whether `parent`, which is made, is on the store's disk."""
        known = self._reached.get(parent)
        if known is None or not os.path.isdir(parent):
            parent.mkdir(parents=True, exist_ok=True)
            known = os.stat(parent).st_dev == os.stat(self.store.root).st_dev
            self._reached[parent] = known
        return known

    def fill(self, tree: Tree) -> Path:
        """A new folder in the store with these files. Raises Gone for what the store has not."""
        new = self._beside()
        try:
            for name, (digest, _) in tree.files.items():
                if "/" in name:
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                self.store.copy(digest, new / name)
        except BaseException:
            remove(new)
            raise
        return new

    def move(self, new: Path, folder: Path) -> bool:
        """Of two at once one is first: False for the other, whose files are gone then."""
        try:
            os.rename(new, folder)
        except BaseException as error:
            remove(new)
            if isinstance(error, OSError) and error.errno in NOT_FREE:
                return False
            raise
        return True

    def _beside(self) -> Path:
        """For this process alone; a kill leaves it to a sweep."""
        with self._lock:
            if self._private is None:
                self._private = self._held.enter_context(self.store.private())
            new = self._private / str(next(self._new))
        new.mkdir()
        return new

    def close(self) -> None:
        """Give back what is held in the store; a later `fill` takes it again."""
        with self._lock:
            self._private = None
            self._held.close()
