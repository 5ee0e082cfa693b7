"""Actions as doit's tasks. doit gives the order, the builder decides."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from doit.exceptions import TaskFailed
from doit.task import Task

from qnnbuild.actions.record import Record
from qnnbuild.bridge.session import Session
from qnnbuild.engine.state import Current, Outcome, State, Waits
from qnnbuild.errors import QnnbuildError


class Hears(Protocol):
    """Hears from the threads that make actions, and takes no time."""

    def will_run(self, name: str, /) -> None:
        """From doit's main thread, before it hands `name` out."""
        ...

    def started(self, name: str, /) -> None: ...

    def left(self, name: str, /) -> None:
        """Its thread is done with it, whatever came of it."""
        ...


class Deaf:
    """For doit's own reporters, which hear from doit alone."""

    def will_run(self, name: str, /) -> None:
        """Is not heard."""

    def started(self, name: str, /) -> None:
        """Is not heard."""

    def left(self, name: str, /) -> None:
        """Is not heard."""


class Build:
    """What the tasks of one doit run share."""

    def __init__(self, session: Session, *, force: bool = False) -> None:
        self.session = session
        self.force = force
        self.hears: Hears = Deaf()
        self.current: dict[str, Record] = {}  # found current
        self.outcomes: dict[str, Outcome] = {}
        self.seconds: dict[str, float] = {}  # of all that is current by now: what making it took
        self.failures: dict[str, QnnbuildError] = {}
        self.has_bug = False
        self.stopped = False
        self._running = 0
        self._idle = threading.Condition()

    def is_current(self, name: str) -> bool:
        """doit asks at the task's turn, in its main thread, and does not catch what is raised."""
        self._stop_here()
        try:
            state: State | None = self.session.state(name)
        except QnnbuildError:
            state = None  # making it says the same again, where doit can take it
        if not isinstance(state, Current):
            self.hears.will_run(name)
            return False
        self.current[name] = state.record
        self.seconds[name] = state.record.seconds
        return True

    def make(self, name: str) -> TaskFailed | None:
        """The task's only doit action."""
        self._stop_here()
        with self._idle:
            self._running += 1
        try:
            self.hears.started(name)
            outcome = self.session.make(name, force=self.force)
            self.outcomes[name] = outcome
            self.seconds[name] = outcome.record.seconds
        except QnnbuildError as error:
            self._stop_here()
            self.failures[name] = error
            return TaskFailed(str(error))
        except Exception:
            self.has_bug = True  # doit shows the traceback
            raise
        finally:
            self.hears.left(name)
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
        return None

    def found(self, name: str) -> State | QnnbuildError:
        """Its state, or what is wrong with its sources."""
        try:
            return self.session.state(name)
        except QnnbuildError as error:
            return error

    def why(self, name: str) -> str:
        """Why it would run, in words."""
        state = self.found(name)
        if isinstance(state, QnnbuildError):
            return str(state)
        if isinstance(state, Waits):
            return f"waits for {', '.join(state.on)}"
        return "nothing" if isinstance(state, Current) else "; ".join(state.reasons)

    def cancel(self) -> None:
        self.stopped = True
        self.session.cancel()

    def wait_for_threads(self, seconds: float) -> None:
        """Let what was cancelled tidy up behind itself: doit does not join its threads."""
        end = time.monotonic() + seconds
        with self._idle:
            while self._running and time.monotonic() < end:
                self._idle.wait(0.1)

    def _stop_here(self) -> None:
        # doit lets a KeyboardInterrupt through from a task, also out of its threads
        if self.stopped:
            raise KeyboardInterrupt


class UpToDate:
    """doit's question, with an answer that `doit info` can print."""

    # doit looks at the signature of each; inspect finds this one a hundred times faster
    __signature__ = inspect.Signature()

    def __init__(self, build: Build, names: Sequence[str]) -> None:
        self.build = build
        self.names = names

    def __call__(self) -> bool:
        return all(self.build.is_current(name) for name in self.names)

    def __repr__(self) -> str:
        told = [self.build.why(name) for name in self.names if not self.build.is_current(name)]
        return "; ".join(told) if len(self.names) == 1 else f"{len(told)} of {len(self.names)}"


def tasks_of(build: Build, *, groups_are_asked: bool) -> Iterator[Task]:
    """A task for each action, and one for each model that stands for all of its actions."""
    plan = build.session.plan
    for model, names in plan.groups.items():
        if model:
            asked = [UpToDate(build, names)] if groups_are_asked else []
            yield Task(
                model,
                None,
                task_dep=names,
                uptodate=asked,
                has_subtask=True,
                doc=f"everything of {model}",
            )
    blank = vars(Task("blank", None))
    for action in plan:
        yield _task(
            blank,
            name=action.name,
            _actions=[(build.make, [action.name])],
            task_dep=list(action.needs()),
            uptodate=[(UpToDate(build, (action.name,)), [], {})],
            subtask_of=action.group or None,
            doc=action.about,
            values={},
            io=IN_THE_OPEN,
        )


class _Open:
    """Output capture swaps sys.stdout, which is wrong under threads; our children write to logs."""

    capture = False


IN_THE_OPEN = _Open()


def _task(blank: dict[str, Any], **own: Any) -> Task:
    """A task without the thirty checks of doit's constructor: those took a third of a no-op."""
    task = Task.__new__(Task)
    task.__dict__.update(blank)
    task.__dict__.update(own)
    return task


def stand_ins(names: Iterable[str]) -> Iterator[Task]:
    """For actions behind the gate that a task of the dodo.py needs: there is nothing to do."""
    for name in names:
        yield Task(name, None, uptodate=[True], doc="behind the gate: current")
