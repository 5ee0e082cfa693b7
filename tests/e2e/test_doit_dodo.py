"""A dodo.py with tasks of its own, and one in a repo that names no loader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.doit_repo import Repo, make_repo, without_times


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


OWN_TASK = """
def task_hello():
    return {
        "actions": ["echo hello >> hello.txt"], "file_dep": ["n.txt"], "targets": ["hello.txt"],
        "task_dep": ["fetch/n"],
    }
"""
BRING = """
from qnnbuild.bridge import dodo

dodo.PLUGINS["LOADER"]["qnnbuild"] = "fake_loader:FakeLoader"
dodo.run(globals())
"""


@pytest.mark.parametrize("loader_is_named", [True, False])
def test_a_dodo_py_may_have_tasks_of_its_own(repo: Repo, loader_is_named: bool) -> None:
    (repo.root / "dodo.py").write_text(OWN_TASK + BRING)
    if not loader_is_named:
        (repo.root / "pyproject.toml").unlink()
    first = repo.doit("hello")
    ran = repo.ran()
    repo.settle()
    listed = repo.doit("list")
    behind = repo.doit("hello")

    assert first.returncode == behind.returncode == 0
    assert ran == ["fetch/n"]
    assert listed.stdout == "hello   \nm       everything of m\nn       everything of n\n"
    assert (repo.root / "hello.txt").read_text() == "hello\n"


def test_a_dodo_py_alone_gives_the_same_commands_and_exit_codes(repo: Repo) -> None:
    (repo.root / "pyproject.toml").unlink()
    (repo.root / "dodo.py").write_text(BRING)
    built, again = repo.doit("-n", "2"), repo.doit()
    wrong, info = repo.doit("bundle/*@Z"), repo.doit("info", "fetch/m")

    assert without_times(built.stdout).splitlines()[-1] == "made 6"
    assert without_times(again.stdout) == "nothing to do: reused 6\n"
    assert (wrong.returncode, info.returncode) == (3, 0)
    assert not list(repo.root.glob(".doit.db*"))


def test_a_dodo_py_can_be_run_itself(repo: Repo) -> None:
    (repo.root / "dodo.py").write_text(BRING)
    done = subprocess.run(
        [sys.executable, "dodo.py", "list"],
        cwd=repo.root, env=repo.env, text=True, capture_output=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "m   everything of m\nn   everything of n\n")


def test_a_failed_task_of_the_dodo_py_is_doits_own_matter(repo: Repo) -> None:
    (repo.root / "dodo.py").write_text('def task_no():\n    return {"actions": ["exit 1"]}\n')
    done = repo.doit("no")

    assert done.returncode == 1
    assert "TaskFailed - taskid:no" in done.stdout
