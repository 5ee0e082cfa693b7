"""Workflows that call others give them what they ask for, and may what those need; no more."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from qnnbuild.cli import main

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
ACTION = ROOT / "action.yml"
USERS = [ACTION, *sorted(WORKFLOWS.glob("*.yml"))]
ON = True
"""YAML 1.1 reads the key `on` as true."""

LEVELS = ("none", "read", "write")
OURS = re.compile(
    rf"qnnbuild/qnnbuild/\.github/workflows/([\w-]+\.yml)@v{re.escape(version('qnnbuild'))}"
)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starter") / "new"
    main(["init", str(folder)])
    return folder / ".github" / "workflows"


def read(path: Path) -> dict[Any, Any]:
    told: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return told


def calls(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Jobs that are workflows of this repo, and which."""
    for job in read(path)["jobs"].values():
        if "uses" in job:
            found = OURS.fullmatch(job["uses"])
            yield job, found.group(1) if found else job["uses"].removeprefix("./.github/workflows/")


def wanted(name: str) -> dict[str, str]:
    """The permissions that a workflow needs of its caller, with those of what it calls."""
    found: dict[str, str] = {}
    for job in read(WORKFLOWS / name)["jobs"].values():
        for what, level in job["permissions"].items():
            found[what] = max(found.get(what, "none"), level, key=LEVELS.index)
    return found


def checked(path: Path) -> int:
    count = 0
    for job, name in calls(path):
        asked = read(WORKFLOWS / name)[ON]["workflow_call"] or {}
        inputs, given = asked.get("inputs", {}), job.get("with", {})
        assert given.keys() <= inputs.keys()
        assert {n for n, one in inputs.items() if one.get("required")} <= given.keys()
        assert job.get("secrets", {}).keys() == asked.get("secrets", {}).keys()
        assert job["permissions"] == wanted(name)
        count += 1
    return count


def test_the_callers_of_a_new_repo_fit_what_they_call(starter: Path) -> None:
    assert {path.name: checked(path) for path in starter.iterdir()} == {
        "build.yml": 2, "nightly.yml": 2,
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_this_repos_own_callers_fit_what_they_call(path: Path) -> None:
    count = {"build.yml": 2, "nightly.yml": 2, "zoo.yml": 2, "night.yml": 1}

    assert checked(path) == count.get(path.name, 0)


def test_a_new_repos_callers_differ_from_ours_in_how_they_install(starter: Path) -> None:
    for name in ("build.yml", "nightly.yml"):
        (mine, *_), (theirs, *_) = calls(WORKFLOWS / name), calls(starter / name)
        own = mine[0]["with"].keys() - theirs[0].get("with", {}).keys()
        assert own == {"install", "requirements"}
        assert read(WORKFLOWS / name)[ON] == read(starter / name)[ON]
        assert read(WORKFLOWS / name)["concurrency"] == read(starter / name)["concurrency"]


def test_what_this_repo_installs_by_is_in_its_makefile() -> None:
    (job, _), *_ = calls(WORKFLOWS / "build.yml")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert job["with"]["install"].startswith("make .venv/zoo.ready && ")
    assert "\n.venv/zoo.ready: requirements.lock " in makefile


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_a_workflow_names_actions_by_commit_and_may_nothing_by_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = [u for u in re.findall(r"uses: (.+)", text) if not u.startswith("./")]

    assert [u for u in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", u)] == []
    assert read(path)["permissions"] == {}
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")


def test_the_action_names_actions_by_commit_and_values_in_the_environment_only() -> None:
    steps = read(ACTION)["runs"]["steps"]
    text = ACTION.read_text(encoding="utf-8")
    used = [step for step in steps if "uses" in step]
    pinned = re.findall(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n", text)

    assert len(pinned) == len(used) > 0
    assert [step["name"] for step in steps if "${{" in step.get("run", "")] == []
    assert [s["name"] for s in steps if "run" in s and s["shell"] != "bash"] == []


def test_the_action_installs_what_is_in_this_repo() -> None:
    (install,) = [s["run"] for s in read(ACTION)["runs"]["steps"] if s.get("name") == "install"]
    (lock,) = re.findall(r"\$GITHUB_ACTION_PATH/([\w.-]+)", install)
    extras = read(ACTION)["inputs"]["extras"]["description"]
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert (ROOT / lock).is_file()
    assert (
        set(re.findall(r"\w+", extras.partition("(")[2])) <= known["optional-dependencies"].keys()
    )


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_the_same_action_has_the_same_commit_everywhere(path: Path) -> None:
    pins: dict[str, set[str]] = {}
    for one in USERS:
        for name, pin in re.findall(r"uses: ([\w/-]+)@(.+)", one.read_text(encoding="utf-8")):
            pins.setdefault(name, set()).add(pin)
    used = re.findall(r"uses: ([\w/-]+)@", path.read_text(encoding="utf-8"))

    assert {name: pins[name] for name in used if len(pins[name]) > 1} == {}
