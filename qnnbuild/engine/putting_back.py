"""Where build/ is gone, a second thread puts bundles back from the end while the build comes from
the front: copies and digests leave Python's lock, and plain `doit` does one thing at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from qnnbuild.engine.state import NotCurrent, Stale
from qnnbuild.engine.store import Gone
from qnnbuild.errors import QnnbuildError

if TYPE_CHECKING:
    from qnnbuild.engine.builder import Builder


class PuttingBack:
    """What it does not come to, or cannot do, the build does itself, and tells it."""

    def __init__(self, builder: Builder, names: Sequence[str]) -> None:
        self.builder = builder
        self.names = names
        self.begun: set[str] = set()  # bundles that stand in build/ by it, or are about to
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="putting back", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(QnnbuildError, OSError, Gone):
            for name in reversed(self.names):
                if self._stopped.is_set() or not self._put(name):
                    return

    def _put(self, name: str) -> bool:
        """Whether to go on: where the two meet, nothing is left."""
        builder = self.builder
        lands = builder.plan[name].lands
        if lands is None or not isinstance(builder.state(name), Stale):
            return True
        if os.path.lexists(builder.folder.root / lands):
            return False
        with suppress(NotCurrent):
            (tree,) = builder.record(name).outputs.values()
            self.begun.add(name)
            builder.folder.put(lands, tree)
        return True

    def end(self) -> None:
        self._stopped.set()
        self._thread.join()


def put_back(builder: Builder, names: Collection[str]) -> PuttingBack | None:
    """Begin, where there is no build/ and something was built before."""
    landing = [name for name in names if builder.plan[name].lands is not None]
    if len(landing) < 2 or builder.store.is_empty or os.path.lexists(builder.folder.root):
        return None
    return PuttingBack(builder, landing)
