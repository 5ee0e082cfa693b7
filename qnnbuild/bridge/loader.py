"""doit's loader: asks the gate first, then opens a session for what may have changed.

pyproject.toml (or doit.cfg) names `Loader`, and the commands beside it. Nothing heavy is imported
here: on a build of nothing, this module and the gate are all that runs of us.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from doit import loader as doit_loader
from doit.cmd_base import DodoTaskLoader
from doit.exceptions import InvalidDodoFile

from qnnbuild.engine import gate, only_recipes
from qnnbuild.engine.gate_file import Group
from qnnbuild.engine.trust import HINT, NO, TRUST, YES, trust_of
from qnnbuild.errors import NothingMatches, Problem, QnnbuildError, RecipeError, did_you_mean

if TYPE_CHECKING:
    from doit.task import Task

    from qnnbuild.actions.plan import Plan
    from qnnbuild.bridge.events import Events
    from qnnbuild.bridge.session import Session
    from qnnbuild.bridge.stops import Stops
    from qnnbuild.bridge.tasks import Build
    from qnnbuild.engine.gate import Restored
    from qnnbuild.engine.gate_stat import Stamp

STARTER = Path(__file__).parents[1] / "starter" / "dodo.py"
"""What `qnnbuild init` writes: to leave it out is no loss, and needs no word."""

TRUST_OPTIONS = (
    {
        "name": "trust",
        "long": "trust",
        "type": bool,
        "default": False,
        "section": "qnnbuild",
        "help": "code of this repo may run, whoever it is from",
    },
    {
        "name": "no_trust",
        "long": "no-trust",
        "type": bool,
        "default": False,
        "section": "qnnbuild",
        "help": "no code of this repo runs",
    },
)

TIDY_UP_S = 10.0
"""How long a build that was stopped waits for what it has to remove."""


class Refused(InvalidDodoFile):  # type: ignore[misc]
    """Carries our error through doit's commands; those that are not ours print its words."""

    def __init__(self, error: QnnbuildError) -> None:
        super().__init__("\n".join(problem.message for problem in error.problems))
        self.error = error


class Loader(DodoTaskLoader):  # type: ignore[misc]
    """Tests and benchmarks bring sessions of their own with a subclass."""

    cmd_options = (*DodoTaskLoader.cmd_options, *TRUST_OPTIONS)
    loading: ClassVar[bool] = False  # a dodo.py sees by it that it need not start doit itself

    def __init__(self) -> None:
        super().__init__()
        self.root = Path()
        self.gate: gate.Gate | None = None
        self.build: Build | None = None
        self.stops: Stops | None = None  # of a run, what is told that there is a build to cancel
        self.behind = (0, 0.0)  # what is selected and behind the gate: how many, seconds saved
        self.restored: Sequence[Restored] = ()  # of that, what build/ had lacked
        self.came: frozenset[str] = frozenset()  # not behind the gate, and back all the same
        self.began = time.monotonic()
        self.at_once = 1  # how many actions may run at once
        self.given: Mapping[str, Any] = {}  # doit's options, as it has read them
        self.events: Events | None = None
        self._finished = False
        self._configured = False
        self._doits: Sequence[Stamp] | None = None  # none: there is more than recipes here

    def open_session(
        self, root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]
    ) -> Session:
        from qnnbuild.session import open_live

        return open_live(root, recipes, unseen)

    def setup(self, opt_values: dict[str, Any]) -> None:
        # doit makes some objects for each of thousands of tasks and drops none: nothing to collect
        gc.disable()
        if opt_values.get("trust") or opt_values.get("no_trust"):
            os.environ[TRUST] = NO if opt_values.get("no_trust") else YES
        Loader.loading = True
        self._doits = only_recipes.signatures(Path.cwd())
        try:
            self.namespace = _dodo(opt_values)
        except QnnbuildError as error:
            raise Refused(error) from error
        finally:
            Loader.loading = False
        self.root = Path.cwd()

    def load_doit_config(self) -> dict[str, Any]:
        ours = {
            "backend": "qnnbuild",
            "dep_file": str(gate.gate_file(self.root).with_name("doit.db")),
            "reporter": "qnnbuild",
            "par_type": "thread",
            "verbosity": 2,
        }
        theirs: dict[str, Any] = super().load_doit_config()
        self._configured = bool(theirs)
        return ours | theirs

    def _says_only_ours(self, cmd: Any, options: Mapping[str, Any]) -> bool:
        """Whether neither dodo.py nor doit's settings make a plain build another than ours.

        They have been read only where the repo is trusted.
        """
        defined = {name for name in self.namespace if not name.startswith("__")}
        asked = ("default_tasks", "always", "single", "json_events", "cwdPath", "seek_file")
        return (
            trust_of(os.environ).given
            and type(self).load_tasks is Loader.load_tasks
            and type(cmd).__module__ == "qnnbuild.bridge.commands"
            and defined <= {"run"}  # what the dodo.py of a new repo imports
            and not self._configured
            and not any(options.get(name) for name in asked)
            and options.get("dodoFile") == "dodo.py"
            and (options.get("reporter"), options.get("outfile")) == ("qnnbuild", sys.stdout)
        )

    def load_tasks(self, cmd: Any, pos_args: list[str]) -> list[Task]:
        theirs: list[Task] = super().load_tasks(cmd, pos_args)
        try:
            ours = self._ours(cmd, theirs, pos_args)
        except QnnbuildError as error:
            raise Refused(error) from error
        gc.freeze()
        gc.enable()
        return [*ours, *theirs]

    def _ours(self, cmd: Any, theirs: Sequence[Task], pos_args: list[str]) -> list[Task]:
        self.gate = gate.look(self.root, only_recipes.seen(self.root))
        options = getattr(cmd, "given", {})
        if theirs or not self._says_only_ours(cmd, options):
            self._doits = None
        plain_run = cmd.execute_tasks and not options.get("always") and not options.get("single")
        words = pos_args or cmd.sel_tasks or ()
        if plain_run and not words:
            self._restore(self.gate, options)
        recipes, behind = self.gate.recipes, self.gate.closed
        if not plain_run:
            recipes, behind = None, {}
        if recipes is not None and Chosen(None, behind, ()).holds(words):
            recipes = ()
        tasks = [] if recipes == () else self._open(cmd, recipes, frozenset(behind))
        chosen = Chosen(self.build, behind, [task.name for task in theirs])
        tasks += chosen.stand_ins(theirs)
        cmd.dep_manager.backend.ours = {task.name for task in tasks}
        if pos_args:
            # doit took this very list for the selection of some of its commands and not of others
            pos_args[:] = chosen.names(pos_args, keep_patterns=cmd.execute_tasks)
        elif cmd.sel_tasks:
            cmd.sel_tasks = chosen.names(cmd.sel_tasks, keep_patterns=cmd.execute_tasks)
        else:
            chosen.all_behind()
        self.behind = (chosen.count, chosen.saved_s)
        return tasks

    def _restore(self, found: gate.Gate, options: Mapping[str, Any]) -> None:
        """By the gate, where nobody but our reporter wants to hear of actions one by one."""
        ours = (options.get("reporter"), options.get("outfile")) == ("qnnbuild", sys.stdout)
        others = self.events is not None or os.environ.get("GITHUB_STEP_SUMMARY")
        if not found.is_shut and ours and not others:
            from qnnbuild.engine.gate_restore import restore, told

            _say(told(restore(found, say=_say)))  # at once: a bad recipe may end it here
        self.restored = [one for one in found.came if one.group in found.closed]
        self.came = frozenset(one.name for one in found.came if one.group not in found.closed)

    def _open(
        self, cmd: Any, recipes: tuple[str, ...] | None, unseen: frozenset[str]
    ) -> list[Task]:
        from qnnbuild.bridge.tasks import Build, tasks_of
        from qnnbuild.bridge.telling import say

        session = self.open_session(self.root, recipes, unseen)
        options = getattr(cmd, "given", {})
        self.build = Build(session, force=bool(options.get("always")))  # first: it is closed then
        if self.stops is not None:
            self.stops.watch(self.build)
        if cmd.execute_tasks and (threads := session.threads) is not None:
            cmd.given.update_defaults({"num_process": threads})  # -n wins
        self.at_once = int(options.get("num_process") or 1)
        if options.get("par_type") == "process" and cmd.execute_tasks:
            cmd.given["par_type"] = "thread"  # actions have processes of their own already
        wrong = any(problem.severity == "error" for problem in session.problems)
        if wrong and cmd.execute_tasks and not options.get("continue"):
            raise RecipeError.of(session.problems)
        say(session.problems, sys.stderr)
        return list(tasks_of(self.build, groups_are_asked=not cmd.execute_tasks))

    # --- for the commands and the reporter ------------------------------------------------------

    @property
    def session(self) -> Session:
        """Only where one was opened: any command but a run."""
        assert self.build is not None
        return self.build.session

    @property
    def plan(self) -> Plan:
        return self.session.plan

    @property
    def is_stopped(self) -> bool:
        return self.build is not None and self.build.stopped

    def wait_for_threads(self) -> None:
        if self.is_stopped and self.build is not None:
            self.build.wait_for_threads(TIDY_UP_S)

    def finish(self) -> None:
        """After the last task; a second call does nothing."""
        if self.gate is None or self._finished:
            return
        self._finished = True
        if trust_of(os.environ).given:
            only_recipes.note(self.root, self._doits)
        if self.build is not None:
            from qnnbuild.bridge.finish import finish

            finish(self.build, self.gate)

    def forget(self, names: Sequence[str]) -> None:
        self.session.forget(names)
        gate.forget(self.root)

    def close(self) -> None:
        if self.build is not None:
            self.build.session.close()


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _dodo(opt_values: dict[str, Any]) -> dict[str, Any]:
    """What the dodo.py defines; there need not be one."""
    wanted = [opt_values[name] for name in ("dodoFile", "cwdPath", "seek_file")]
    plain = wanted[0] == "dodo.py" and not any(wanted[1:])
    if not _may_run(opt_values, plain=plain) or (plain and not Path("dodo.py").exists()):
        doit_loader.initial_workdir = str(Path.cwd())
        return {}
    defined: dict[str, Any] = vars(doit_loader.get_module(*wanted))
    return defined


def _may_run(opt_values: dict[str, Any], *, plain: bool) -> bool:
    """Whether the repo's dodo.py may: it is code like any other.

    Of another, a doit.cfg may speak as well as the command line, and that is the repo's, too.
    """
    trust = trust_of(os.environ)
    if trust.given or "dodoFile" in getattr(opt_values, "_non_default_keys", ()):
        return True
    if not plain:
        file = opt_values["dodoFile"]
        raise trust.refused(f"{file} would run: it is code of this repo, which is not trusted")
    if Path("dodo.py").exists() and Path("dodo.py").read_bytes() != STARTER.read_bytes():
        from qnnbuild.bridge.telling import say

        message = "dodo.py is not read: it is code of this repo, which is not trusted"
        facts = (("not trusted", trust.why),)
        say([Problem(message=message, facts=facts, hint=HINT, severity="warning")], sys.stderr)
    return False


class Chosen:
    """What the words of the command line select, of the plan and of what is behind the gate."""

    def __init__(
        self, build: Build | None, behind: dict[str, Group], theirs: Sequence[str]
    ) -> None:
        self.actions = build.session.plan.actions if build else {}
        self.groups = build.session.plan.groups if build else {}
        self.behind = behind
        self.theirs = theirs
        self.count = 0  # of actions behind the gate that are selected
        self.saved_s = 0.0

    def holds(self, words: Sequence[str]) -> bool:
        """Whether there are words, and all are names of what is behind the gate."""
        left = set(words) - self.behind.keys()
        return bool(words) and bool(self.behind) and (not left or left <= {*self._names_behind()})

    def all_behind(self) -> None:
        self.count = sum(group.actions for group in self.behind.values())
        self.saved_s = sum(group.saved_s for group in self.behind.values())

    def names(self, words: Sequence[str], *, keep_patterns: bool) -> list[str]:
        """The words that doit is to select by; patterns stay as they are where doit knows them."""
        chosen: list[str] = []
        for at, word in enumerate(words):
            if word in self.theirs:
                return [*chosen, *words[at:]]  # what follows may be options of that task
            chosen += self._names(word, keep_patterns=keep_patterns)
        return list(dict.fromkeys(chosen))

    def _names(self, word: str, *, keep_patterns: bool) -> list[str]:
        if word.startswith("-"):
            raise NothingMatches(
                f"the option {word} stands behind a name",
                hint="doit takes its options first: doit -n 4 --continue NAME",
            )
        if word in self.actions or word in self.groups:
            return [word]
        if word in self.behind:
            self.count += self.behind[word].actions
            self.saved_s += self.behind[word].saved_s
            return []
        found = [n for n in (*self.actions, *self.theirs) if fnmatchcase(n, word)]
        behind = sum(fnmatchcase(name, word) for name in self._names_behind())
        self.count += behind
        if not found and not behind:
            raise NothingMatches(
                f"nothing is named '{word}'",
                hint=did_you_mean(word, self._known(), otherwise="all names: doit list --all"),
            )
        return [word] if found and keep_patterns and "*" in word else found

    def stand_ins(self, theirs: Sequence[Task]) -> list[Task]:
        """Tasks for what is behind the gate and needed by tasks of the dodo.py."""
        needed = {
            n for t in theirs for n in (*t.task_dep, *t.wild_dep, *t.setup_tasks, *t.calc_dep)
        }
        if not needed or not self.behind:
            return []
        from qnnbuild.bridge.tasks import stand_ins

        names = [*self.behind, *self._names_behind()]
        return list(stand_ins(n for n in names if any(fnmatchcase(n, word) for word in needed)))

    def _names_behind(self) -> Iterator[str]:
        for group in self.behind.values():
            yield from group.names

    def _known(self) -> list[str]:
        return [*self.actions, *self.groups, *self.behind, *self._names_behind(), *self.theirs]
