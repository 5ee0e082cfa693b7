"""Which actions run code of the repo: every step there is stands on one side or the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.engine.guard import RUN_CODE, check, code_in, guarded, reads_beside
from qnnbuild.engine.runner import Made
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.errors import NotTrusted, Problem, Span, ToolError

PACKAGE = Path(__file__).parents[3] / "qnnbuild"
STRANGER = Trust(given=False, why="a test says so")
AT = Span(file="recipes/m.yaml", line=3, column=1)

TAKE_DATA = {
    *("archive", "bundle", "context", "convert", "debug", "dlc", "dump", "emulate", "expect"),
    *("fetch", "judge", "library", "on-device", "packages", "prepare", "reference", "references"),
    *("runtime", "samples", "search", "sensitivity", "verdict", "verify", "wrap"),
}
"""Steps that run nothing of the repo by themselves; they may still load its libraries."""


def action(name: str, step: str, outputs: tuple[str, ...] = ("o",), **fields: Any) -> Action:
    call = fields.pop("call", "qnnbuild.work.x:x")
    return Action(name=name, step=step, call=call, outputs=outputs, **fields)


def test_each_step_is_known_to_run_code_or_not():
    found = {
        step
        for path in PACKAGE.rglob("*.py")
        for step in re.findall(r'\bstep="([a-z-]+)"', path.read_text(encoding="utf-8"))
    }

    assert found == TAKE_DATA | RUN_CODE.keys()


@pytest.mark.parametrize("step", sorted(RUN_CODE))
def test_steps_that_run_code_of_the_repo_are_refused(step):
    one = action(f"{step}/m", step, places={"graph": AT})
    with pytest.raises(NotTrusted) as caught:
        check(one, Plan.of([one]), STRANGER)

    (problem,) = caught.value.problems
    assert problem.message == f"{step}/m runs code of this repo, which is not trusted"
    assert problem.at == AT
    assert dict(problem.facts) == {"code": RUN_CODE[step], "not trusted": "a test says so"}
    assert problem.hint == "read its code first, then: doit --trust, or QNNBUILD_TRUST=yes"
    assert caught.value.exit_code == 8


def libraries(output: str, taker: str = "context") -> tuple[Action, Plan]:
    made = action("packages/m", "packages", ("here", "operators"))
    source: dict[str, Input] = {"packages": OutputOf(action="packages/m", output=output)}
    taking = action(f"{taker}/m", taker, inputs=source)
    return taking, Plan.of([made, taking])


def test_who_loads_libraries_of_the_repo_runs_code():
    assert code_in(*libraries("here")) == "libraries of operators of its own"
    assert code_in(*libraries("operators", "prepare")) is None


@pytest.mark.parametrize("name", ["converter", "measuring"])
def test_libraries_that_tools_of_the_sdk_load_are_code(name):
    one = action("convert/m", "convert", inputs={name: SourceFiles(patterns=("lib.so",))})

    assert code_in(one, Plan.of([one])) == "libraries of operators of its own"


def test_a_toolchain_of_the_repo_is_code():
    one = action("context/m", "context", call="my_tools.work:context")

    assert code_in(one, Plan.of([one])) == "its own toolchain, my_tools.work:context"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "FILE:///etc/passwd"])
def test_no_file_of_the_machine_is_read_for_a_stranger(url):
    one = action("fetch/m", "fetch", params={"url": url})
    with pytest.raises(NotTrusted, match="reads a file of this machine"):
        check(one, Plan.of([one]), STRANGER)

    check(one, Plan.of([one]), TRUSTED)


@pytest.mark.parametrize("step", sorted(TAKE_DATA))
def test_data_is_taken_from_strangers(step):
    one = action(f"{step}/m", step, params={"url": "https://example.com/m.onnx"})

    assert code_in(one, Plan.of([one])) is None
    assert not reads_beside(one)


class Failing:
    """An executor whose server says no."""

    def __init__(self, hint: str | None) -> None:
        self.hint = hint

    def run(self, *_: object) -> Made:
        raise ToolError("the server answered 401 Unauthorized", at=AT, hint=self.hint)


def refused_by(hint: str | None, step: str = "fetch", **params: str) -> Problem:
    one = action(f"{step}/m", step, params=params)
    executor: Any = Failing(hint)
    with pytest.raises(ToolError) as caught:
        guarded(executor, Plan.of([one]), STRANGER).run(one, "0" * 64, {})
    (problem,) = caught.value.problems
    return problem


def test_what_asks_for_a_login_says_that_none_was_used():
    told = refused_by("a login for this host goes into ~/.netrc", url="https://a.example/m")

    assert told == Problem(
        message="the server answered 401 Unauthorized",
        at=AT,
        facts=(
            ("logins", "netrc, tokens and passwords of this machine are not used for this repo"),
            ("not trusted", "a test says so"),
        ),
        hint="read its code first, then: doit --trust, or QNNBUILD_TRUST=yes",
    )


def test_an_index_of_packages_that_fails_says_so_too_and_keeps_its_hint():
    told = refused_by("check name and version", pypi="a==1")

    assert [name for name, _ in told.facts] == ["logins", "not trusted"]
    assert told.hint == "check name and version"


@pytest.mark.parametrize(("hint", "step"), [("a typo", "fetch"), ("put it into netrc", "bundle")])
def test_other_failures_stay_as_they_are(hint, step):
    assert refused_by(hint, step).facts == ()
