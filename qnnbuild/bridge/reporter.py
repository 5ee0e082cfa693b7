"""doit's reporter: hands what happens to the progress, and tells each failure once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from doit.exceptions import BaseFail, UnmetDependency
from doit.reporter import ExecutedOnlyReporter

from qnnbuild.engine.progress import Progress

if TYPE_CHECKING:
    from doit.task import Task

    from qnnbuild.bridge.loader import Loader
    from qnnbuild.errors import Problem


class Reporter(ExecutedOnlyReporter):  # type: ignore[misc]
    """Tasks of a dodo.py are shown as doit shows them."""

    desc = "qnnbuild: one live line on a terminal, a line for each action elsewhere"
    loader: ClassVar[Loader]

    @classmethod
    def of(cls, loader: Loader) -> type[Reporter]:
        """doit makes the reporter itself and has no place for what it is to report on."""
        return type("Reporter", (cls,), {"loader": loader})

    def __init__(self, outstream: TextIO, options: Mapping[str, Any]) -> None:
        super().__init__(outstream, options)
        count, saved_s = self.loader.behind
        self.progress = Progress(outstream, before=count, saved_s=saved_s, began=self.loader.began)

    def initialize(self, tasks: Mapping[str, Task], selected_tasks: Sequence[str]) -> None:
        build = self.loader.build
        if build is None:
            return
        plan = build.session.plan
        if len(selected_tasks) < len(tasks):
            chosen = [n for s in selected_tasks for n in plan.groups.get(s, (s,)) if n in plan]
            plan = plan.upto(chosen)
        self.progress.expect(len(plan))

    def write(self, text: str) -> None:
        self.progress.say(text)

    def execute_task(self, task: Task) -> None:
        if self._is_ours(task):
            if task.actions:
                self.progress.started(task.name)
        else:
            super().execute_task(task)

    def skip_uptodate(self, task: Task) -> None:
        build = self.loader.build
        if build is not None and task.name in build.current:
            self.progress.reused(build.current[task.name])

    def add_success(self, task: Task) -> None:
        build = self.loader.build
        if build is not None and task.name in build.outcomes:
            self.progress.ended(build.outcomes[task.name])

    def add_failure(self, task: Task, fail: BaseFail) -> None:
        build = self.loader.build
        if build is None or not self._is_ours(task):
            super().add_failure(task, fail)
        elif isinstance(fail, UnmetDependency):
            if task.name in build.session.plan:
                self.progress.unmet()
        else:
            error = build.failures.get(task.name)
            text = told(error.problems) if error else fail.get_msg() + "\n"
            more = f"  more: qnnbuild show {shlex.quote(task.name)}\n"
            self.progress.failed(task.name, text + more)

    def complete_run(self) -> None:
        self.loader.wait_for_threads()
        self.progress.close()
        super().complete_run()
        self.loader.finish()
        self.outstream.write(self.progress.summary(stopped=self.loader.is_stopped))
        self.outstream.flush()

    def _is_ours(self, task: Task) -> bool:
        build = self.loader.build
        if build is None:
            return False
        return task.name in build.session.plan or task.name in build.session.plan.groups


def told(problems: Iterable[Problem], *, colour: bool = False) -> str:
    """Problems as words; in a GitHub workflow as its annotations."""
    from qnnbuild.text import render

    if os.environ.get("GITHUB_ACTIONS") == "true":
        return render.github(problems)
    return render.terminal(problems, colour=colour)


def say(problems: Sequence[Problem], stream: TextIO) -> None:
    if problems:
        from qnnbuild.text.render import wants_colour

        stream.write(told(problems, colour=wants_colour(stream, os.environ)))
        stream.flush()
