"""What the bridge leans on in doit, and that its two ways in are the same."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

from doit.task import Task

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.bridge.dodo import PLUGINS
from qnnbuild.bridge.loader import Loader
from qnnbuild.bridge.tasks import Build, UpToDate, tasks_of

REPO = Path(__file__).resolve().parents[3]


class Planned:
    """A session that has a plan and nothing else."""

    plan = Plan.of(
        [
            Action(
                name="fetch/m", step="fetch", call="x:y", outputs=("o",), group="m", about="gets m"
            ),
            Action(
                name="bundle/m@A",
                step="bundle",
                call="x:y",
                inputs={"i": OutputOf(action="fetch/m", output="o")},
                outputs=("o",),
                group="m",
            ),
        ]
    )


def _tasks() -> dict[str, Task]:
    build = Build(Planned())  # type: ignore[arg-type]
    return {task.name: task for task in tasks_of(build, groups_are_asked=False)}


def test_pyproject_and_dodo_name_the_same_plugins() -> None:
    doit = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["doit"]

    assert doit["loader"] == "qnnbuild"
    assert {name.upper(): value for name, value in doit["plugins"].items()} == PLUGINS


def test_a_task_made_without_doits_checks_has_all_that_doit_gives_one() -> None:
    whole = vars(Task("bundle/m@A", [(print,)], task_dep=["fetch/m"], uptodate=[True]))
    quick = vars(_tasks()["bundle/m@A"])

    assert quick.keys() == whole.keys()
    assert {
        name: type(value) for name, value in quick.items() if name not in {"io", "subtask_of"}
    } == {name: type(value) for name, value in whole.items() if name not in {"io", "subtask_of"}}


def test_tasks_share_nothing_that_doit_changes() -> None:
    one, other = (_tasks()[name] for name in ("fetch/m", "bundle/m@A"))

    assert one.values is not other.values
    assert one.task_dep is not other.task_dep
    assert one.uptodate is not other.uptodate


def test_a_model_is_a_group_of_its_actions() -> None:
    tasks = _tasks()

    assert tasks["m"].has_subtask
    assert tasks["m"].task_dep == ["fetch/m", "bundle/m@A"]
    assert (tasks["bundle/m@A"].subtask_of, tasks["bundle/m@A"].task_dep) == ("m", ["fetch/m"])
    assert tasks["fetch/m"].doc == "gets m"


def test_output_is_not_captured() -> None:
    """doit would swap sys.stdout, under threads as well."""
    assert _tasks()["fetch/m"].io.capture is False


def test_doits_question_takes_no_arguments() -> None:
    """doit fills parameters by their names."""
    question = UpToDate(Build(Planned()), ["fetch/m"])  # type: ignore[arg-type]

    assert list(inspect.signature(question).parameters) == []


def test_the_loader_takes_doits_options() -> None:
    doits = {"dodoFile", "cwdPath", "seek_file"}

    assert {option["name"] for option in Loader.cmd_options} == {*doits, "trust", "no_trust"}
