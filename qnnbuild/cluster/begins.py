"""Workers tell the build when an action's process begins: the scheduler hands it on as an event.

Dask itself tells only that a worker has a request, which may still wait there for others.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Worker

TOPIC = "qnnbuild"
"""One for all builds: a scheduler keeps the last events of each topic for as long as it lives."""


class Teller:
    """A `Watcher` in a worker process."""

    def __init__(self, worker: Worker, build: str) -> None:
        self.worker = worker
        self.build = build

    def waits(self, name: str, what_for: str) -> None:
        """To the build it waits for a worker, and so it does."""

    def runs(self, name: str, where: str = "") -> None:
        # under "worker" Dask puts an address of its own
        told = {"build": self.build, "action": name, "where": where or str(self.worker.name)}
        self.worker.log_event(TOPIC, told)


class Begins:
    """What a build has heard: action → the worker that it runs on. Safe between threads."""

    def __init__(self, build: str) -> None:
        self.build = build
        self._lock = threading.Lock()
        self._workers: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def hear(self, event: tuple[float, Any]) -> None:
        """Dask calls it from the thread that everything of the client needs: no time for more."""
        _, told = event
        if told.get("build") == self.build:
            with self._lock:
                self._workers[str(told["action"])] = str(told["where"])
                self._names[str(told.get("worker"))] = str(told["where"])

    def name_of(self, address: str) -> str | None:
        """Of a worker on which something began, also when it was lost a moment later."""
        with self._lock:
            return self._names.get(address)

    def take(self, name: str) -> str | None:
        """The worker on which `name` has begun since this was asked last."""
        with self._lock:
            return self._workers.pop(name, None)
