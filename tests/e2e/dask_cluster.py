"""A Dask scheduler with workers, each a process of its own, and executors that use it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.cluster.executor import ClusterExecutor
from qnnbuild.engine.appetite import Appetite
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import Problem, Span
from qnnbuild.model.cluster import Cluster
from tests.e2e.processes import parent
from tests.e2e.small_repo import BIN, REPO

PATIENCE_S = 120
LEAVE_S = 30
KEY = "ab" + "0" * 62
PLACE = Span(file="recipes/x.yaml", line=7, column=3)
BLIND = str(Path(__file__).with_name("blind_worker.py"))
"""A worker that loads this sees no store of anybody else, as on another machine."""


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass
class DaskCluster:
    root: Path
    address: str = ""
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    started: int = 0

    @property
    def url(self) -> str:
        return self.address.replace("tcp://", "dask://")

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """One more worker, called w1, w2, …; `words` are further ones of its command line."""
        self.started += 1
        name = f"w{self.started}"
        fixed = (
            *("--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--memory-limit", "0", "--local-directory", str(self.root / name)),
        )
        argv = ["worker", self.address, *fixed, *words]
        self.workers[name] = self._process(name, argv, env or {})
        return name

    def at_least(self, count: int) -> None:
        """Start what is missing, and wait until the scheduler knows them."""
        for name in [n for n, process in self.workers.items() if process.poll() is not None]:
            del self.workers[name]
        for _ in range(count - len(self.workers)):
            self.start()
        for name in self.workers:
            wait_for(lambda name=name: "Registered to" in self.log(name))  # type: ignore[misc]

    def log(self, name: str) -> str:
        return (self.root / f"{name}.log").read_text()

    def worker_of(self, pid: int) -> str:
        """The name of the worker that a process is a child of, over however many others."""
        pids = {process.pid: name for name, process in self.workers.items()}
        while pid not in pids:
            pid = parent(pid)
        return pids[pid]

    def kill(self, name: str) -> None:
        process = self.workers.pop(name)
        process.kill()
        process.wait()

    def _process(
        self, name: str, words: list[str], env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        known = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        python = {"PYTHONPATH": str(REPO), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
        with (self.root / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(BIN / "dask"), *words],
                cwd=self.root,
                env={**known, **python, **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @classmethod
    @contextmanager
    def running(cls, root: Path) -> Iterator[DaskCluster]:
        """A scheduler that gives a request up when two workers were lost with it."""
        cluster = cls(root)
        file = root / "scheduler.json"
        words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        scheduler = cluster._process(
            "scheduler", [*words, "--no-jupyter", "--scheduler-file", str(file)], {}
        )
        try:
            wait_for(lambda: file.exists() and '"address"' in file.read_text())
            cluster.address = file.read_text().partition('"address": "')[2].partition('"')[0]
            yield cluster
        finally:
            # one after the other: Dask's worker hangs when its scheduler leaves as it does
            end([*cluster.workers.values()])
            end([scheduler])


@dataclass(kw_only=True)
class Away:
    """An executor on a cluster, as a build has it, and what it told."""

    executor: ClusterExecutor
    store: Store
    remote: RemoteStore
    told: list[Problem]


@contextmanager
def away(
    root: Path, url: str, *, wait_s: float = PATIENCE_S, identity: Identity | None = None
) -> Iterator[Away]:
    """With a store in `root`."""
    root.mkdir(exist_ok=True)
    told: list[Problem] = []
    records = Records(root / "records.db", "here")
    store = Store(root / "store", Stats())
    remote = RemoteStore(store, records)
    executor = ClusterExecutor(
        Cluster(url=url, wait_s=wait_s),
        runner=Runner(store, Workers(path=sys.path), {}),
        identity=identity or Identity(Stats()),
        appetite=Appetite(records),
        remote=remote,
        sdks={},
        top=REPO,
        tell=told.append,
    )
    try:
        yield Away(executor=executor, store=store, remote=remote, told=told)
    finally:
        executor.close()
        remote.close()
        records.close()


def doing(function: str, **more: object) -> Action:
    """One of `misbehaving`, as an action."""
    values = {
        "name": "context/m/g@SM8750",
        "step": "context",
        "call": f"tests.e2e.misbehaving:{function}",
        "outputs": ("o",),
        "places": {"inputs.x": PLACE},
        "deadline_s": 600.0,
    }
    return Action(**{**values, **more})  # type: ignore[arg-type]
