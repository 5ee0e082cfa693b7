"""doit's commands with our errors, exit codes and patterns."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from doit import cmd_clean, cmd_forget, cmd_ignore, cmd_info, cmd_list, cmd_run, reporter
from doit.cmd_base import DoitCmdBase
from doit.plugin import PluginEntry
from doit.task import Task

from qnnbuild.bridge.db import Db
from qnnbuild.bridge.finish import exit_code
from qnnbuild.bridge.loader import Refused
from qnnbuild.bridge.reporter import Reporter
from qnnbuild.bridge.stops import stops
from qnnbuild.bridge.telling import say
from qnnbuild.errors import NothingMatches, QnnbuildError

DOITS_REPORTERS = {
    "console": reporter.ConsoleReporter,
    "executed-only": reporter.ExecutedOnlyReporter,
    "json": reporter.JsonReporter,
    "zero": reporter.ZeroReporter,
    "error-only": reporter.ErrorOnlyReporter,
}


JSON_EVENTS = {
    "name": "json_events",
    "long": "json-events",
    "type": str,
    "default": None,
    "section": "qnnbuild",
    "help": "write what happens as JSON, one event a line (docs/events.md), into a file; "
    "- is stdout, /dev/fd/3 a descriptor",
}


class Ours(DoitCmdBase):  # type: ignore[misc]
    """Errors as words on stderr, and exit codes by class."""

    def execute(self, params: Any, args: list[str]) -> int:
        # doit hands its options to _execute only, and the loader has to know some before
        self.given = self.loader.given = params
        try:
            code = self.act(params, args)
            return exit_code(self.loader.build, code)
        except Refused as refused:
            return self._refused(refused.error)
        except QnnbuildError as error:
            return self._refused(error)
        except BrokenPipeError:
            # `doit list | head`: the reader had enough, and Python would complain again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 128 + signal.SIGPIPE
        finally:
            self.loader.close()

    def _refused(self, error: QnnbuildError) -> int:
        say(error.problems, sys.stderr)
        if self.loader.events is not None:
            self.loader.events.refused = error.problems
        return error.exit_code

    def act(self, params: Any, args: list[str]) -> int:
        # None is what some of doit's commands return when all went well
        return super().execute(params, args) or 0

    def get_backends(self) -> dict[str, Any]:
        # doit's own method looks for more in all installed packages, which takes its time
        self.cmdparser["backend"].choices = {"qnnbuild": Db.desc}
        return {"qnnbuild": Db}

    def our_names(self, tasks: Sequence[Task]) -> list[str]:
        return [task.name for task in tasks if task.name in self.loader.plan]


class Run(Ours, cmd_run.Run):  # type: ignore[misc]
    cmd_options = (*cmd_run.Run.cmd_options, JSON_EVENTS)

    def execute(self, params: Any, args: list[str]) -> int:
        """With events for tools, where they are asked for."""
        where = params.get("json_events")
        if where is None:
            return super().execute(params, args)
        from qnnbuild.bridge.run_with_events import run_with_events

        return run_with_events(self, where, params, lambda: super(Run, self).execute(params, args))

    def get_reporters(self) -> dict[str, Any]:
        # not doit's own method either, for the same reason
        reporters = {**DOITS_REPORTERS, "qnnbuild": Reporter.of(self.loader)}
        for name, place in self.config.get("REPORTER", {}).items():
            reporters[name] = PluginEntry("REPORTER", name, place).get()
        self.cmdparser["reporter"].choices = {name: kind.desc for name, kind in reporters.items()}
        return reporters

    def act(self, params: Any, args: list[str]) -> int:
        with stops() as stopping:
            self.loader.stops, caught = stopping, stopping.caught
            try:
                code = super().act(params, args)
            except KeyboardInterrupt:
                self.loader.wait_for_threads()
                return 128 + (caught[0] if caught else signal.SIGINT)
            self.loader.finish()
        return 128 + caught[0] if caught else code


class List(Ours, cmd_list.List):  # type: ignore[misc]
    pass


class Info(Ours, cmd_info.Info):  # type: ignore[misc]
    def _execute(self, pos_args: list[str], hide_status: bool = False) -> int:
        """Takes patterns: one after the other; 1 when one of them is stale, as doit does."""
        if len(pos_args) < 2:
            return super()._execute(pos_args, hide_status) or 0
        return max(super(Info, self)._execute([name], hide_status) or 0 for name in pos_args)


class Clean(Ours, cmd_clean.Clean):  # type: ignore[misc]
    """Takes build/ away; the store keeps what was made, so the next build only puts it back."""

    def clean_tasks(self, tasks: Sequence[Task], dryrun: bool, cleanforget: bool) -> None:
        names = self.our_names(tasks)
        for path in self.loader.session.clean(names, dry_run=dryrun):
            self.outstream.write(f"removing {path}\n")
        if cleanforget and not dryrun:
            self.loader.forget(names)
        super().clean_tasks([t for t in tasks if t.name not in set(names)], dryrun, cleanforget)


class Forget(Ours, cmd_forget.Forget):  # type: ignore[misc]
    def _execute(self, forget_sub: bool, forget_disable_default: bool, forget_all: bool) -> None:
        """doit says which; without names it forgets the default tasks, which are all."""
        forgotten: list[str] = []
        remove = self.dep_manager.remove

        def take(name: str) -> None:
            forgotten.append(name)
            remove(name)

        self.dep_manager.remove = take
        if forget_all:
            forgotten += [task.name for task in self.task_list]
        if self.sel_tasks is None:
            self.sel_tasks: list[str] | None = [
                task.name for task in self.task_list if not task.subtask_of
            ]
        super()._execute(forget_sub, forget_disable_default, forget_all)
        self.loader.forget([name for name in forgotten if name in self.loader.plan])


class Ignore(Ours, cmd_ignore.Ignore):  # type: ignore[misc]
    def _execute(self, pos_args: list[str]) -> None:
        ours = [n for n in pos_args if n in self.loader.plan or n in self.loader.plan.groups]
        if ours:
            raise NothingMatches(
                f"{ours[0]} cannot be ignored: what needs it would be built without it",
                hint="name what to build instead, or take it out of the recipe",
            )
        super()._execute(pos_args)
