"""A Dask scheduler as builds see it: connect, who works there, submit, look around, leave."""

from __future__ import annotations

import json
import logging
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from qnnbuild.cluster.placement import Seat
from qnnbuild.errors import ToolError
from qnnbuild.model.cluster import Cluster

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 5.0
FRESH_S = 2.0
"""Who works there is asked at most this often, however many actions wait."""

T = TypeVar("T")
INSTALL = "pip install 'qnnbuild[cluster]'"


class Pending:
    """A request that is on its way."""

    def __init__(self, future: Any) -> None:
        self._future = future
        self._ended = threading.Event()
        future.add_done_callback(lambda _: self._ended.set())

    def is_done(self, within_s: float) -> bool:
        return self._ended.wait(within_s)

    def answer(self) -> str:
        """Raises what went wrong; CancelledError when nobody has it any more."""
        return str(self._future.result())

    def take_back(self) -> None:
        """Dask forgets it, and whoever is at it finds that out."""
        with suppress(OSError, CancelledError, RuntimeError):  # the scheduler is gone
            self._future.cancel(force=True)


class Scheduler:
    """Safe between threads."""

    def __init__(self, client: Client, told_as: str) -> None:
        self.client = client
        self.told_as = told_as
        self._lock = threading.Lock()
        self._seats: list[Seat] = []
        self._asked_s = float("-inf")

    @classmethod
    def connect(cls, cluster: Cluster) -> Scheduler:
        """Raises ToolError when nobody answers, or nothing is there that could ask."""
        try:
            import dask.config
            from distributed import Client
        except ImportError as error:
            raise ToolError(
                f"{error.name} is not installed, which the executor needs",
                at=cluster.span,
                hint=INSTALL,
            ) from error
        for name in [*logging.root.manager.loggerDict]:
            if name.partition(".")[0] == "distributed":  # what matters is told in our own words
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        try:
            with dask.config.set({"distributed.comm.timeouts.connect": CONNECT_S}):
                client = Client(  # type: ignore[no-untyped-call]
                    _address(cluster), timeout=CONNECT_S, set_as_default=False
                )
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _unreachable(cluster, error) from error
        return cls(client, str(client.scheduler_info(n_workers=1)["address"]))

    @property
    def is_there(self) -> bool:
        return bool(self.client.status == "running")

    def seats(self) -> list[Seat]:
        """The workers, as they were a moment ago."""
        with self._lock:
            if time.monotonic() - self._asked_s > FRESH_S:
                with self._told():
                    found = self.client.scheduler_info(n_workers=-1)["workers"]
                self._seats = [_seat(address, told) for address, told in found.items()]
                self._asked_s = time.monotonic()
            return self._seats

    def submit(
        self, work: Callable[[str], str], text: str, name: str, wants: Mapping[str, float]
    ) -> Pending:
        with self._told():
            resources = dict(wants) or None
            return Pending(self.client.submit(work, text, key=name, resources=resources))

    def ask_all(self, work: Callable[[str], T], text: str) -> dict[str, T | Exception]:
        """Of each worker, beside its work: what it answers, or what was wrong with it."""
        with self._told():
            return dict(self.client.run(work, text, on_error="return"))

    def listen(self, topic: str, hear: Callable[[tuple[float, Any]], None]) -> None:
        """Have `hear` get (time, message) of what workers tell under `topic` from now on."""
        self.client.subscribe_topic(topic, hear)  # type: ignore[no-untyped-call]

    def versions(self) -> list[str]:
        """Of Dask, here and on all machines of the cluster, each once."""
        with self._told():
            told: Any = self.client.get_versions()
        everywhere = [told["client"], told["scheduler"], *told["workers"].values()]
        return sorted({str(one["packages"]["distributed"]) for one in everywhere})

    def died_with(self, name: str) -> list[str]:
        """The addresses of workers that were lost while they had this request."""
        with self._told():
            events = self.client.get_events("all")
        return [
            told["worker"]
            for _, told in events
            if told.get("action") == "remove-worker" and name in told.get("processing-tasks", ())
        ]

    def close(self) -> None:
        self.client.close()  # type: ignore[no-untyped-call]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """A scheduler that went while it was asked."""
        try:
            yield
        except (OSError, CancelledError, RuntimeError) as error:
            raise gone(self.told_as, str(error)) from error


def gone(scheduler: str, why: str = "") -> ToolError:
    return ToolError(
        "the scheduler of the cluster is gone",
        facts=[("scheduler", scheduler), *([("it said", why)] if why else [])],
        hint="start it and its workers, and build again: what was made is kept",
    )


def was_killed(error: BaseException) -> bool:
    """Whether Dask gave up because each worker that had the request was lost."""
    from distributed.scheduler import KilledWorker

    return isinstance(error, KilledWorker)


def _seat(address: str, told: Mapping[str, Any]) -> Seat:
    return Seat(
        address=address,
        name=str(told.get("name", address)),
        threads=int(told["nthreads"]),
        resources=told.get("resources") or {},
    )


def _address(cluster: Cluster) -> str:
    """As Dask writes it. Dask's client would wait for a file for ever."""
    if cluster.scheduler_file is None:
        return cluster.address
    told = json.loads(Path(cluster.scheduler_file).read_text(encoding="utf-8"))
    return str(told["address"])


def _unreachable(cluster: Cluster, error: Exception) -> ToolError:
    file = cluster.scheduler_file
    how = f"--scheduler-file {file}" if file else f"--port {urlsplit(cluster.url).port}"
    why = error.strerror if isinstance(error, OSError) else None
    return ToolError(
        f"no scheduler answers at {cluster.url}",
        at=cluster.span,
        facts=[("why", why or str(error) or type(error).__name__)],
        hint=f"start it: dask scheduler {how}; without `executor:` actions run on this machine",
    )
