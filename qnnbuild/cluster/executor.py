"""The executor that is a cluster: requests to its workers instead of children of this machine."""

from __future__ import annotations

import json
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from qnnbuild.actions.action import Action
from qnnbuild.actions.record import Tree
from qnnbuild.cluster.agreement import agreed
from qnnbuild.cluster.begins import TOPIC, Begins
from qnnbuild.cluster.message import CUT, Answer, Around, Request
from qnnbuild.cluster.placement import nobody_takes, threads_of, wants_of
from qnnbuild.cluster.scheduler import Pending, Scheduler, gone, was_killed
from qnnbuild.cluster.ways import Carrier, OneStore
from qnnbuild.cluster.work_code import code_of
from qnnbuild.cluster.worker import leave, look, run
from qnnbuild.digest import Digest
from qnnbuild.engine.appetite import Appetite
from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Changed
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.runner import Made, Runner, Stage
from qnnbuild.engine.store import place
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.engine.watcher import A_WORKER
from qnnbuild.errors import Problem, QnnbuildError, StoreError, ToolError
from qnnbuild.model.cluster import Cluster
from qnnbuild.model.sdks import Sdk

LOOKS_EVERY_S = 0.2
"""How soon a waiting action sees that the build was stopped."""

FAREWELL_S = 5.0
"""How long workers that do not answer keep a build from ending."""

ASKS = 5
"""How often a request that was stopped for no reason is sent again."""

SKEW_S = 5.0
"""By how much clocks of machines may differ."""

Tell = Callable[[Problem], None]


@dataclass(frozen=True, kw_only=True)
class Open:
    """A scheduler that answers, and workers that agree with the build."""

    scheduler: Scheduler
    carrier: Carrier
    around: Around
    begins: Begins


class ClusterExecutor:
    """Connects when something has to run. `runner` is this machine's own, for a fallback."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        runner: Runner,
        identity: Identity,
        appetite: Appetite,
        remote: RemoteStore,
        sdks: Mapping[str, Sdk],
        top: Path,
        tell: Tell,
        brings: bool = False,
        trust: Trust = TRUSTED,
    ) -> None:
        self.cluster = cluster
        self.runner = runner
        self.identity = identity
        self.appetite = appetite
        self.remote = remote
        self.sdks = tuple({**asdict(sdk), "span": None} for sdk in sdks.values())
        self.top = top
        self.brings = brings
        self.trust = trust
        self.cancelled = False
        self._tell = tell
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._open: Open | None = None
        self._is_here = False  # nobody answered, and the settings say that this machine will do
        self._refused: QnnbuildError | None = None
        self._has_told = False
        self._names: dict[str, str] = {}

    def ready(self) -> int | None:
        """Connect; how many actions the workers take at once."""
        here = self._opened()
        return threads_of(here.scheduler.seats()) if here is not None else None

    def run(self, action: Action, key: Digest, stages: Mapping[str, Stage]) -> Made:
        here = self._opened()
        if here is None:
            return self.runner.run(action, key, stages)
        here.carrier.offer(stages)
        request = Request(
            around=here.around,
            action=action,
            key=key,
            tool=self.identity.of(action),
            inputs={name: stage.tree for name, stage in stages.items()},
        )
        answer = self._answered(here, request)
        self._keep_log(key, answer)
        if answer.late:
            raise self._over(action, answer)
        if answer.error is not None:
            raise self._placed(answer.error, key, answer.worker)
        if answer.gone:
            here.carrier.lost(answer.gone)
            raise Changed(not_to_be_had(request, answer))  # what made them makes them again
        assert answer.made is not None, "an answer is one of five"
        self.runner.turns.watcher.runs(action.name, answer.worker)  # quick ones begin unheard
        here.carrier.take(answer.made.outputs)
        return replace(answer.made, worker=answer.worker)

    def reaches(self, tree: Tree) -> bool:
        here = self._open
        return here is not None and here.carrier.reaches(tree)

    def cancel(self) -> None:
        """Threads that wait see it, and take their requests back."""
        self.cancelled = True

    def close(self) -> None:
        with self._lock:
            here, self._open = self._open, None
        self.runner.close()
        if here is None:
            return
        if here.scheduler.is_there:
            # in a thread of its own: a worker that hangs must not keep the build from ending
            bye = partial(self._farewell, here)
            thread = threading.Thread(target=bye, daemon=True)
            thread.start()
            thread.join(FAREWELL_S)
        here.carrier.close()
        here.scheduler.close()

    def _farewell(self, here: Open) -> None:
        try:
            here.scheduler.ask_all(leave, here.around.build)
        except ToolError:
            return  # it is gone, and its workers see that themselves

    # --- opening ----------------------------------------------------------------------------

    def _opened(self) -> Open | None:
        """Once for all threads, also where it fails; None when this machine does the work."""
        with self._lock:
            if self._open is not None or self._is_here:
                return self._open
            if self._refused is not None:
                raise self._refused
            self._stop_here("the build")
            try:
                self._open = self._connect()
            except QnnbuildError as error:
                self._refused = error
                raise
            return self._open

    def _connect(self) -> Open | None:
        try:
            scheduler = Scheduler.connect(self.cluster)
        except ToolError as error:
            if not self.cluster.falls_back:
                raise
            self._is_here = True
            (problem,) = error.problems
            hint = "actions run on this machine, as `fallback: local` says"
            self._tell(replace(problem, hint=hint, severity="warning"))
            return None
        try:
            return self._agree(scheduler)
        except BaseException:
            scheduler.close()
            raise

    def _agree(self, scheduler: Scheduler) -> Open:
        store, build_time = OneStore(self.runner.store), self.runner.turns.build_time
        left_s = build_time.left_s()
        around = Around(
            build=uuid4().hex,
            code=code_of(self.identity),
            top=str(self.top),
            way=store.way,
            sdks=self.sdks,
            brings=self.brings,
            trusted=self.trust.given,
            starts_by=None if left_s is None else time.time() + left_s,
            grace_s=build_time.grace_s,
        )
        text = json.dumps(around.to_json())
        try:
            self._await_first(scheduler, text)
            told = scheduler.ask_all(look, text)
            carrier = agreed(around, told, store, self.remote, scheduler)
        except BaseException:
            store.close()
            raise
        begins = Begins(around.build)
        scheduler.listen(TOPIC, begins.hear)
        around = replace(around, way=carrier.way)
        return Open(scheduler=scheduler, carrier=carrier, around=around, begins=begins)

    def _await_first(self, scheduler: Scheduler, text: str) -> None:
        """Clusters that grow by demand have no worker before something is asked for."""
        if not scheduler.seats():
            name = f"look-{uuid4().hex}"
            pending = scheduler.submit(look, text, name, {})
            self._await(scheduler, pending, "the first question", {})

    # --- asking -----------------------------------------------------------------------------

    def _answered(self, here: Open, request: Request) -> Answer:
        """A worker that lost sight of the scheduler may think that nobody wants its answer."""
        for _ in range(ASKS):
            answer = self._ask(here, request)
            self._stop_here(request.action.name)
            if not answer.stopped:
                return answer
        raise ToolError(
            f"workers stopped {request.action.name} {ASKS} times, which nobody had asked for",
            facts=[("scheduler", here.scheduler.told_as), ("worker", answer.worker)],
            hint="look into the worker's log: it may lose its connection to the scheduler",
        )

    def _ask(self, here: Open, request: Request) -> Answer:
        scheduler, action = here.scheduler, request.action
        size = sum(tree.size for tree in request.inputs.values())
        wants = wants_of(action, self.appetite.bytes_of(action, size), scheduler.seats())
        name = f"{action.name}-{uuid4().hex}"
        self._stop_here(action.name)
        pending = scheduler.submit(run, request.to_text(), name, wants)
        self.runner.turns.watcher.waits(action.name, A_WORKER)
        try:
            self._await(scheduler, pending, action.name, wants)
            return Answer.from_text(pending.answer())
        except CancelledError as error:
            self._stop_here(action.name)
            raise gone(scheduler.told_as, str(error)) from error
        except ImportError as error:
            raise _no_qnnbuild(error) from error
        except Exception as error:
            if not was_killed(error):
                raise
            raise self._all_died(here, action, name) from error
        finally:
            pending.take_back()

    def _await(
        self, scheduler: Scheduler, pending: Pending, name: str, wants: Mapping[str, float]
    ) -> None:
        alone_s: float | None = None
        over_s: float | None = None
        build_time = self.runner.turns.build_time
        while not pending.is_done(LOOKS_EVERY_S):
            if self.cancelled:
                pending.take_back()
                raise Cancelled(f"{name} was stopped")
            if build_time.grace_is_over:
                over_s = over_s or time.monotonic()
                if time.monotonic() - over_s >= FAREWELL_S:  # workers end it themselves, or never
                    pending.take_back()
                    raise build_time.over()
            self._tell_begin(name)
            if not scheduler.is_there:
                continue  # Dask tries to connect again, and ends the request when it cannot
            seats = scheduler.seats()
            self._names.update((seat.address, seat.name) for seat in seats)
            if any(seat.takes(wants) for seat in seats):
                alone_s = None
                continue
            alone_s = alone_s or time.monotonic()
            nobody = nobody_takes(name, wants, seats, scheduler.told_as)
            if time.monotonic() - alone_s >= self.cluster.wait_s:
                pending.take_back()
                raise nobody
            self._tell_waiting(nobody)

    def _tell_begin(self, name: str) -> None:
        here = self._open
        worker = here.begins.take(name) if here is not None else None
        if worker is not None:
            self.runner.turns.watcher.runs(name, worker)

    def _tell_waiting(self, nobody: ToolError) -> None:
        """Once: who starts workers wants to know, and one line is enough."""
        with self._telling:
            told, self._has_told = self._has_told, True
        if not told:
            (problem,) = nobody.problems
            hint = f"it is waited for {self.cluster.wait_s:g} s; {problem.hint}"
            self._tell(replace(problem, hint=hint, severity="warning"))

    def _stop_here(self, name: str) -> None:
        if self.cancelled:
            raise Cancelled(f"{name} was stopped")

    # --- telling ----------------------------------------------------------------------------

    def _over(self, action: Action, answer: Answer) -> QnnbuildError:
        """A worker's clock said so; this machine's is the build's."""
        build_time = self.runner.turns.build_time
        left_s = build_time.left_s()
        if left_s is not None and left_s > SKEW_S:
            return ToolError(
                f"for worker {answer.worker} the build's deadline is over, by {left_s:.0f} s "
                "too early",
                facts=[("action", action.name)],
                hint="set the clocks of all machines (NTP)",
            )
        if answer.late == CUT:
            self._tell(build_time.stopped(action.name))
        return build_time.over()

    def _keep_log(self, key: Digest, answer: Answer) -> None:
        if answer.log is not None:
            place(self.runner.store.log(key), answer.log.encode())

    def _placed(self, error: QnnbuildError, key: Digest, worker: str) -> QnnbuildError:
        """The worker's error with the log where it is here, and with the worker's name."""
        log = str(self.runner.store.log(key))
        told = [
            replace(
                problem,
                facts=(
                    *((name, log if name == "log" else text) for name, text in problem.facts),
                    *([] if _is_named(worker, problem) else [("worker", worker)]),
                ),
            )
            for problem in error.problems
        ]
        return type(error).of(told)

    def _all_died(self, here: Open, action: Action, name: str) -> ToolError:
        addresses = here.scheduler.died_with(name)
        shown = partial(self._shown, here.begins)
        facts = [(f"worker {n}", shown(a)) for n, a in enumerate(addresses, 1)]
        return ToolError(
            f"each of the {len(addresses)} workers that had {action.name} was lost",
            facts=[("scheduler", here.scheduler.told_as), *facts],
            hint="it may need more memory than they have: start workers with "
            '--resources "memory=16e9", and see how they ended in their own logs',
        )

    def _shown(self, begins: Begins, address: str) -> str:
        # who was lost as soon as it had begun may never have been seen among the others
        name = self._names.get(address) or begins.name_of(address) or "name unknown"
        return f"{name} at {address}"


def not_to_be_had(request: Request, answer: Answer) -> StoreError:
    """That inputs stay away from workers although they were made again."""
    missing = [
        ("input", f"{name}: {path} ({digest[:12]})")
        for name, tree in request.inputs.items()
        for path, (digest, _) in tree.files.items()
        if digest in answer.gone
    ]
    return StoreError(
        f"a worker cannot have what {request.action.name} takes, though it was brought again",
        facts=[("worker", answer.worker), *missing],
        hint="look whether the remote cache between build and workers keeps what it is given: "
        "qnnbuild doctor",
    )


def _no_qnnbuild(error: ImportError) -> ToolError:
    return ToolError(
        f"a worker could not begin: {error}",
        hint="pip install 'qnnbuild[cluster]' where the workers are started, and start them again",
    )


def _is_named(worker: str, problem: Problem) -> bool:
    return any(worker in (text, name.removeprefix("worker ")) for name, text in problem.facts)
