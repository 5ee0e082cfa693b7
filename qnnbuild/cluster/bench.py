"""What one build has in one worker process: a store, tools that were measured, a warm server."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path

from qnnbuild.cluster.arrivals import Arrivals, arrivals
from qnnbuild.cluster.message import CUT, UNBEGUN, Answer, Around, Request
from qnnbuild.cluster.work_code import code_of, same_code, shown
from qnnbuild.engine.build_time import BuildTime, Cancelled, OutOfTime
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import stage_artifacts
from qnnbuild.engine.outside import outside
from qnnbuild.engine.remote_store import LOG_LIMIT
from qnnbuild.engine.runner import Runner, Stage
from qnnbuild.engine.sdks import Sdks
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import on_disk
from qnnbuild.engine.trust import Trust, import_path
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.watcher import Watcher
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import QnnbuildError, ToolError
from qnnbuild.model.sdks import Sdk

WARM = "qnnbuild.work.warm:load"
LOOKS_EVERY_S = 0.3
"""How soon a worker sees that a build was stopped, or is gone."""

IDLE_S = 60.0
"""How long a build that asks for nothing keeps its warm server."""

Unwanted = Callable[[str], bool]
"""Whether a request, by Dask's name for it, is one that its build wants no answer to any more."""


class Bench:
    """Safe between threads. `name` is what Dask calls a request, everywhere here."""

    def __init__(
        self,
        around: Around,
        code: str,
        *,
        worker: str,
        scratch: Path,
        stats: Stats,
        watcher: Watcher,
    ) -> None:
        top = Path(around.top)
        trust = Trust(given=around.trusted, why="so says the build")
        sdks = Sdks({s["name"]: Sdk(**s) for s in around.sdks}, top, stats, trust=trust)
        self.around = around
        self.worker = worker
        self.identity = Identity(stats, sdks)
        self._check_code(code)
        self.arrivals: Arrivals = arrivals(around.way, scratch, stats)
        path = import_path(trust, top, sys.path, brings=around.brings)
        self.workers = Workers(warm=WARM, path=path)
        self._outside = {**outside(trust, os.environ), **sdks.variables()}
        left_s = None if around.starts_by is None else around.starts_by - time.time()
        build_time = BuildTime(left_s, around.grace_s)
        self._turns = Turns(build_time=build_time, server=lambda: self.workers.pid)
        self._turns.watcher = watcher
        self.going: dict[Runner, str] = {}
        self.last_s = time.monotonic()

    def begin(self, name: str) -> Runner:
        """One for each request, so that it can be stopped alone."""
        runner = Runner(self.arrivals.store, self.workers, self._outside, self._turns)
        self.going[runner] = name
        return runner

    def answer(self, runner: Runner, request: Request) -> Answer:
        """Do what is asked for."""
        try:
            self._turns.build_time.check()
            self._check_tools(request)
            gone = self.arrivals.bring(request.inputs)
            return Answer(worker=self.worker, gone=gone) if gone else self._run(runner, request)
        except OutOfTime:
            return Answer(worker=self.worker, late=UNBEGUN)
        except Cancelled:
            return Answer(worker=self.worker, stopped=True)
        except QnnbuildError as error:
            return Answer(worker=self.worker, error=error, log=self._log(request))

    def stop(self) -> None:
        """End what runs, for good."""
        for runner in self.going:
            runner.cancel()

    def close(self) -> None:
        self.workers.close()
        self.arrivals.close()

    def _check_code(self, here: str) -> None:
        if not same_code(here, self.around.code):
            raise ToolError(
                "a worker has other code of qnnbuild than the build",
                facts=[
                    ("the build has", shown(self.around.code)),
                    (f"worker {self.worker}", shown(here)),
                ],
                hint="install the same qnnbuild on both, and start the workers again",
            )

    def _check_tools(self, request: Request) -> None:
        """What the worker makes is kept under a key that names the build's tools."""
        here = self.identity.of(request.action)
        for name, there in request.tool.items():
            if here.get(name) != there:
                raise ToolError(
                    f"a worker has another {name.partition(':')[2] or name} than the build",
                    facts=[
                        ("the build has", there),
                        (f"worker {self.worker}", here.get(name, "none")),
                        ("action", request.action.name),
                    ],
                    hint="install the same versions on both, and start the workers again",
                )

    def _run(self, runner: Runner, request: Request) -> Answer:
        store = self.arrivals.store
        stages = {
            name: Stage(tree=tree, fill=partial(stage_artifacts, store, tree))
            for name, tree in request.inputs.items()
        }
        with on_disk(f"{request.action.name} cannot be kept on worker {self.worker}"):
            try:
                made = runner.run(request.action, request.key, stages)
            except OutOfTime:
                if not self._turns.build_time.grace_is_over:  # it waited for memory
                    raise
                return Answer(worker=self.worker, late=CUT, log=self._log(request))
        self.arrivals.send(made.outputs)
        return Answer(worker=self.worker, made=made, log=self._log(request))

    def _log(self, request: Request) -> str | None:
        """The log's end, unless it lies where the build sees it."""
        if self.around.way.kind == "store":
            return None
        try:
            with self.arrivals.store.log(request.key).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_LIMIT))
                return file.read().decode(errors="replace")
        except FileNotFoundError:  # it was refused before it began
            return None


class Benches:
    """All builds that this worker process works for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[str, Bench] = {}
        self._stats = Stats()  # of all of them: tools are large, and digested once

    @cached_property
    def code(self) -> str:
        """What this process has loaded; files may be exchanged under it while it lives."""
        return code_of(Identity(self._stats))

    @contextmanager
    def at(
        self,
        around: Around,
        name: str,
        *,
        worker: str,
        scratch: Path,
        unwanted: Unwanted,
        watcher: Watcher,
    ) -> Iterator[Callable[[Request], Answer]]:
        """What answers one request, at its build's bench."""
        with self._lock:
            bench = self._of.get(around.build)
            if bench is None:
                bench = Bench(
                    around, self.code, worker=worker, scratch=scratch, stats=self._stats,
                    watcher=watcher,
                )  # fmt: skip
                self._of[around.build] = bench
                watch = partial(self._watch, bench, unwanted)
                threading.Thread(target=watch, daemon=True, name="qnnbuild-watch").start()
            runner = bench.begin(name)
        try:
            yield partial(bench.answer, runner)
        finally:
            with self._lock:
                del bench.going[runner]
                bench.last_s = time.monotonic()

    def leave(self, build: str) -> None:
        """The build has ended; what it still has running ends with it."""
        with self._lock:
            bench = self._of.get(build)
            if bench is not None:
                self._end(bench)

    def _watch(self, bench: Bench, unwanted: Unwanted) -> None:
        """Dask does not end what a thread is at, so whoever is no longer wanted finds it out."""
        while True:
            time.sleep(LOOKS_EVERY_S)
            with self._lock:
                if self._of.get(bench.around.build) is not bench:
                    return
                if not bench.going and time.monotonic() - bench.last_s > IDLE_S:
                    self._end(bench)
                    return
                for runner, name in bench.going.items():
                    if unwanted(name):
                        runner.stop()

    def _end(self, bench: Bench) -> None:
        del self._of[bench.around.build]
        if bench.going:
            bench.stop()
        else:
            bench.close()
