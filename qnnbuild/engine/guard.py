"""Which actions run code of the repo, and an executor that refuses them where it is not trusted.

Results that are in the store or in a remote cache are taken all the same: they were made by
whoever was trusted then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from qnnbuild.actions.action import Action, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest
from qnnbuild.engine.outside import asks_for_login
from qnnbuild.engine.runner import Executor, Made, Stage
from qnnbuild.engine.trust import HINT, Trust
from qnnbuild.errors import Problem, ToolError

OURS = "qnnbuild.work."

RUN_CODE = {
    "export": "the command of `export:`",
    "feeds": "the Python file of `python:`",
    "metric": "the Python file of `metrics:`",
    "skeleton": "the definition of operators of its own, by the SDK's generator",
    "op-package": "the sources of operators of its own, by make",
}
"""Steps → what of the repo they run."""

NO_LOGIN = "netrc, tokens and passwords of this machine are not used for this repo"

OPERATORS = "operators"
"""What `packages` makes out of an XML alone: data. Its other outputs are libraries."""

LOADED = frozenset(("converter", "measuring"))
"""Inputs of SDK tools that are libraries as the repo has them."""


def code_in(action: Action, plan: Plan) -> str | None:
    """What of the repo's own code would run in it, in words; None when it only takes data."""
    if said := RUN_CODE.get(action.step):
        return said
    if action.call is not None and not action.call.startswith(OURS):
        return f"its own toolchain, {action.call}"
    for name, source in action.inputs.items():
        if isinstance(source, SourceFiles) and name in LOADED:
            return "libraries of operators of its own"
        if isinstance(source, OutputOf) and _is_library(plan, source, action):
            return "libraries of operators of its own"
    return None


def _is_library(plan: Plan, source: OutputOf, taker: Action) -> bool:
    made_by = plan[source.action].step
    if taker.step == "packages":  # reads them as files
        return False
    return made_by == "op-package" or (made_by == "packages" and source.output != OPERATORS)


def reads_beside(action: Action) -> bool:
    """Whether it takes a file of the machine that is none of the repo's."""
    url = action.params.get("url")
    return action.step == "fetch" and isinstance(url, str) and url.lower().startswith("file:")


def check(action: Action, plan: Plan, trust: Trust) -> None:
    """Raises NotTrusted for what may not run."""
    if trust.given:
        return
    at = action.places.get("source") or action.places.get("graph")
    if reads_beside(action):
        raise trust.refused(
            f"{action.name} reads a file of this machine for a repo that is not trusted", at
        )
    code = code_in(action, plan)
    if code is not None:
        raise trust.refused(
            f"{action.name} runs code of this repo, which is not trusted", at, code=code
        )


class Guarded:
    """An executor for a repo that is not trusted."""

    def __init__(self, inner: Executor, plan: Plan, trust: Trust) -> None:
        self.inner = inner
        self.plan = plan
        self.trust = trust

    @property
    def cancelled(self) -> bool:
        return self.inner.cancelled

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        self.inner.cancelled = value

    def run(self, action: Action, key: Digest, stages: Mapping[str, Stage]) -> Made:
        check(action, self.plan, self.trust)
        try:
            return self.inner.run(action, key, stages)
        except ToolError as error:
            if action.step != "fetch":
                raise
            problems = [_without_login(action, p, self.trust) for p in error.problems]
            raise ToolError.of(problems) from error

    def ready(self) -> int | None:
        return self.inner.ready()

    def reaches(self, tree: Tree, /) -> bool:
        return self.inner.reaches(tree)

    def cancel(self) -> None:
        self.inner.cancel()

    def close(self) -> None:
        self.inner.close()


def _without_login(action: Action, problem: Problem, trust: Trust) -> Problem:
    """What a server refused may be for want of a login that this machine has."""
    wants_one = asks_for_login(problem.hint)
    if not wants_one and "pypi" not in action.params:  # pip's words for it differ by index
        return problem
    facts = (*problem.facts, ("logins", NO_LOGIN), ("not trusted", trust.why))
    return replace(problem, facts=facts, hint=HINT if wants_one else problem.hint)


def guarded(executor: Executor, plan: Plan, trust: Trust) -> Executor:
    return executor if trust.given else Guarded(executor, plan, trust)
