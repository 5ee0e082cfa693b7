"""doit's reporter: hands what happens to progress and events, and tells each failure once."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from doit.exceptions import BaseFail, UnmetDependency
from doit.reporter import ExecutedOnlyReporter

from qnnbuild.bridge import telling
from qnnbuild.engine.build_time import OF_THE_BUILD, OutOfTime
from qnnbuild.engine.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from doit.task import Task

    from qnnbuild.actions.plan import Plan
    from qnnbuild.bridge.loader import Loader
    from qnnbuild.bridge.tasks import Build
    from qnnbuild.engine.outlook import Outlook
    from qnnbuild.engine.status import Going
    from qnnbuild.errors import QnnbuildError

EVENT_LINES = 12
"""Lines of a failed action's log that its event has."""


class Reporter(ExecutedOnlyReporter):  # type: ignore[misc]
    """Tasks of a dodo.py are shown as doit shows them."""

    desc = "qnnbuild: live bars on a terminal, a line for each action elsewhere"
    loader: ClassVar[Loader]

    @classmethod
    def of(cls, loader: Loader) -> type[Reporter]:
        """doit makes the reporter itself and has no place for what it is to report on."""
        return type("Reporter", (cls,), {"loader": loader})

    def __init__(self, outstream: TextIO, options: Mapping[str, Any]) -> None:
        super().__init__(outstream, options)
        count, saved_s = self.loader.behind
        self.stopped_by: QnnbuildError | None = None  # what is no single action's trouble
        self.how: dict[str, str] = {}  # what came of each action
        self._plan: Plan | None = None  # of what was asked for
        self.progress = Progress(outstream, before=count, saved_s=saved_s, began=self.loader.began)
        self.progress.restored(self.loader.restored)
        self.events = self.loader.events

    def initialize(self, tasks: Mapping[str, Task], selected_tasks: Sequence[str]) -> None:
        build = self.loader.build
        if build is None:
            return
        plan = build.session.plan
        if len(selected_tasks) < len(tasks):
            chosen = [n for s in selected_tasks for n in plan.groups.get(s, (s,)) if n in plan]
            plan = plan.upto(chosen)
        self._plan = plan
        self.progress.expect(len(plan), self.loader.at_once)
        build.session.expect(plan.actions)
        build.hears = self
        build.session.watch(self)
        self._look_ahead(build, plan)

    def _look_ahead(self, build: Build, plan: Plan) -> None:
        """Looked at when somebody sees it only; tools want the plan first."""

        def ahead(gives_up: Callable[[], bool]) -> Outlook | None:
            from qnnbuild.bridge.foresee import foresee

            found = foresee(build.session, plan.actions, force=build.force, gives_up=gives_up)
            return found.outlook if found is not None else None

        self.progress.foresee = ahead
        if self.events is not None:
            from qnnbuild.bridge.foresee import foresee

            foreseen = foresee(build.session, plan.actions, force=build.force)
            assert foreseen is not None, "nobody gave up"
            workers, behind = self.progress.workers, self.progress.before
            self.events.planned(plan, foreseen, behind=behind, workers=workers)
            self.progress.foresee = lambda _: foreseen.outlook
            self.progress.look_ahead()
            self.events.watch(self.progress.status)

    def write(self, text: str) -> None:
        self.progress.say(text)

    def will_run(self, _: str) -> None:
        # before a thread has it: who opened it there would lose its place among the others
        self.progress.open()

    # --- from the threads that make actions ---------------------------------------------------

    def started(self, name: str) -> None:
        worker = self.progress.started(name)
        if self.events is not None and self.loader.build is not None:
            self.events.started(name, worker, self.loader.build.found(name))

    def left(self, name: str) -> None:
        self.progress.left(name)

    def waits(self, name: str, what_for: str) -> None:
        if self.progress.waits(name, what_for) and self.events is not None:
            self.events.waits(name, what_for)

    def runs(self, name: str, where: str = "") -> None:
        if self.progress.runs(name, where) and self.events is not None:
            self.events.runs(name, where, self._log(name))

    # --- from doit ----------------------------------------------------------------------------

    def execute_task(self, task: Task) -> None:
        if not self._is_ours(task):
            super().execute_task(task)
        elif task.actions:
            # not later: doit puts sys.stdout and sys.stderr back after each action as they were
            # before it, and a view takes what is written there
            self.progress.open()

    def skip_uptodate(self, task: Task) -> None:
        build = self.loader.build
        if build is not None and task.name in build.current:
            came_back = task.name in self.loader.came
            self.how[task.name] = "restored" if came_back else "reused"
            record = build.current[task.name]
            self.progress.reused(task.name, record.seconds, came_back=came_back)
            if self.events is not None:
                self.events.current(task.name, record.key, record.seconds)

    def add_success(self, task: Task) -> None:
        build = self.loader.build
        if build is not None and task.name in build.outcomes:
            outcome = build.outcomes[task.name]
            self.how[task.name] = outcome.how
            self.progress.ended(outcome)
            if self.events is not None:
                self.events.made(outcome, self._going(task.name), self._log(task.name))

    def add_failure(self, task: Task, fail: BaseFail) -> None:
        build = self.loader.build
        if build is None or not self._is_ours(task):
            super().add_failure(task, fail)
        elif isinstance(fail, UnmetDependency):
            if task.name in build.session.plan:
                self._unmet(task.name)
        elif isinstance(error := build.failures.get(task.name), OF_THE_BUILD):
            self.how[task.name] = "not built"
            self.progress.unmet(task.name)
            self.stopped_by = self.stopped_by or error
            if self.events is not None and not self._was_cut(task.name):
                self.events.unmet(task.name)
        else:
            self._failed(task.name, error, fail)

    def _unmet(self, name: str) -> None:
        self.how[name] = "not built"
        self.progress.unmet(name)
        if self.events is not None:
            self.events.unmet(name)

    def _failed(self, name: str, error: QnnbuildError | None, fail: BaseFail) -> None:
        self.how[name] = "failed"
        text = telling.told(error.problems) if error else fail.get_msg() + "\n"
        again = self._again([name])
        more = f"  more: qnnbuild show {shlex.quote(name)}\n  again: {again}\n"
        self.progress.failed(name, text + more)
        if self.events is not None:
            log = self._log(name)
            lines = telling.lines_of(log, EVENT_LINES)
            facts = {"log": str(log) if log else None, "last_lines": lines, "again": again}
            self.events.failed(name, error, self._going(name), **facts)

    def complete_run(self) -> None:
        self.loader.wait_for_threads()
        if self.events is not None:
            self.events.quiet()
        self.progress.close()
        super().complete_run()
        self.loader.finish()
        stopped = self.loader.is_stopped or self.stopped_by is not None
        for text in (*self._stopped(), *self._at_last()):
            self.outstream.write(text)
        line = self.progress.summary(stopped=stopped)
        self.outstream.write(line)
        self.outstream.flush()
        if self.events is not None:
            self.events.result = self._result(stopped=stopped)
        if os.environ.get("GITHUB_STEP_SUMMARY"):
            from qnnbuild.bridge.step_summary import tell_github

            tell_github(self.loader.build, self.how, line, self.loader.root)

    # --- the end ------------------------------------------------------------------------------

    def _stopped(self) -> Iterator[str]:
        """What had to end with the build, with its log; it is built by the same command."""
        cut = [(one, self._log(one.name)) for name, one in self.progress.spent.items()
               if self._was_cut(name)]  # fmt: skip
        if cut:
            yield telling.stopped(cut)
        for going, log in cut if self.events is not None else ():
            assert self.events is not None
            lines = telling.lines_of(log, EVENT_LINES)
            self.events.stopped(going.name, going, log=str(log) if log else None, last_lines=lines)

    def _at_last(self) -> Iterator[str]:
        names = [name for name, how in self.how.items() if how == "failed"]
        if len(names) > 1:  # the first ones are far above
            few = len(names) <= telling.NAMED
            yield telling.failed_again(names, self._again(names if few else ()))
        if folders := sorted(set(self._of_before(names))):
            yield telling.of_before(folders)
        if self.stopped_by is not None:
            yield telling.told(self.stopped_by.problems)
        build = self.loader.build
        over = self.loader.is_stopped or isinstance(self.stopped_by, OutOfTime)
        if over and build is not None and not build.force:  # doit -a begins anew
            yield f"to go on from here: {self._again()}\n"

    def _of_before(self, failed: Sequence[str]) -> Iterator[str]:
        """Folders of bundles that stand on what failed: people would take them for today's."""
        plan = self._plan
        if plan is None:
            return
        for name in failed:
            for one in (name, *plan.dependents(name)) if name in plan else ():
                lands = plan[one].lands
                if lands is not None and (self.loader.root / "build" / lands).is_dir():
                    yield f"build/{lands}"

    def _result(self, *, stopped: bool) -> dict[str, Any]:
        from qnnbuild.text.render import as_json

        counts = {how: count for how, count in self.progress.counts.items() if count}
        return {
            "stopped": stopped,
            "counts": counts,
            "seconds": round(self.progress.clock() - self.progress.began, 3),
            "saved_s": round(self.progress.saved_s, 3),
            "problems": as_json(self.stopped_by.problems) if self.stopped_by else [],
        }

    def _was_cut(self, name: str) -> bool:
        going = self.progress.spent.get(name)
        return going is not None and going.ran and self.how.get(name) in {None, "not built"}

    def _again(self, names: Sequence[str] = ()) -> str:
        """The command for these actions alone; without names the whole one, as it was typed."""
        from qnnbuild.bridge import repeat

        if not names:
            return repeat.typed(sys.argv)
        return repeat.of_actions(sys.argv, self.loader.given, names)

    def _going(self, name: str) -> Going | None:
        return self.progress.spent.get(name)

    def _log(self, name: str) -> Path | None:
        build = self.loader.build
        return build.session.log(name) if build is not None else None

    def _is_ours(self, task: Task) -> bool:
        build = self.loader.build
        if build is None:
            return False
        return task.name in build.session.plan or task.name in build.session.plan.groups
