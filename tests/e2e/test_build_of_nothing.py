"""`qnnbuild build` where nothing is to be done: it asks the gate, and doit is not imported."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.doit_repo import Repo, make_repo, without_times
from tests.e2e.small_repo import SmallRepo

QNNBUILD = str(Path(sys.executable).with_name("qnnbuild"))
NOTHING = "nothing to do: reused 6\n"
TASK = "def task_own():\n    return {'actions': []}\n"
CONFIG = "[tool.doit.commands.run]\nverbosity = 1\ncontinue = true\n"


def build(repo: Repo, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [QNNBUILD, "build", *words], cwd=repo.root, env={**repo.env, **env}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip


@pytest.fixture
def poison(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a doit that cannot be imported."""
    top = tmp_path_factory.mktemp("poison")
    (top / "doit").mkdir()
    (top / "doit/__init__.py").write_text("raise SystemExit(77)\n")
    return str(top)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path)
    made.settle()
    return made


def asks_doit(repo: Repo, poison: str, *words: str, **env: str) -> bool:
    path = f"{poison}{os.pathsep}{repo.env['PYTHONPATH']}"
    done = build(repo, *words, PYTHONPATH=path, **env)
    assert done.returncode in (0, 77), done.stderr
    if done.returncode == 0:
        assert (without_times(done.stdout), done.stderr) == (NOTHING, "")
    return done.returncode == 77


def test_a_build_of_nothing_is_told_as_by_doit_and_without_it(repo: Repo, poison: str) -> None:
    by_doit = repo.doit()

    assert without_times(by_doit.stdout) == NOTHING
    assert not asks_doit(repo, poison)
    assert not asks_doit(repo, poison, "-n", "4", "--continue")
    assert repo.opened() == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("m.txt", "otherwise"),
        ("recipes/o.yaml", "{}"),
        ("dodo.py", TASK),
        ("dodo.py", "DOIT_CONFIG = {'default_tasks': ['m']}\n"),
        ("dodo.py", "from json import *\n"),
        ("doit.cfg", "[GLOBAL]\nreporter = zero\n"),
        ("qnnbuild.yaml", "limits: {threads: 2}\n"),
    ],
)
def test_doit_is_asked_where_something_changed(
    repo: Repo, poison: str, file: str, text: str
) -> None:
    (repo.root / file).write_text(text)

    assert asks_doit(repo, poison)


@pytest.mark.parametrize(
    "text", [TASK, "DOIT_CONFIG = {'default_tasks': ['m']}\n", "import json\n"]
)
def test_what_is_more_than_recipes_is_never_passed_over(repo: Repo, poison: str, text: str) -> None:
    (repo.root / "dodo.py").write_text(text)
    repo.settle()

    assert asks_doit(repo, poison)


def test_settings_of_doit_that_change_what_is_built_are_never_passed_over(
    repo: Repo, poison: str
) -> None:
    pyproject = repo.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text() + "[tool.doit.commands.run]\nalways = true\n")
    repo.settle()

    assert asks_doit(repo, poison)


def test_settings_that_change_nothing_are_no_reason_to_ask(repo: Repo, poison: str) -> None:
    pyproject = repo.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text() + CONFIG)
    repo.settle()

    assert not asks_doit(repo, poison)


@pytest.mark.parametrize("words", [("m",), ("-a",), ("--json-events", "-"), ("-r", "zero")])
def test_other_words_are_doits(repo: Repo, poison: str, words: tuple[str, ...]) -> None:
    assert asks_doit(repo, poison, *words)


@pytest.mark.parametrize("trust", ["no", "yes"])
def test_who_does_not_trust_the_repo_notes_nothing(tmp_path: Path, trust: str) -> None:
    """doit has not read what the repo says to it."""
    repo = SmallRepo.make(tmp_path / "repo", QNNBUILD_TRUST=trust)
    time.sleep(0.1)  # what changed just before a process begins is never noted
    done = repo.qnnbuild("build")

    assert (done.code, done.err) == (0, "")
    assert (repo.root / ".qnnbuild/only-recipes").exists() == (trust == "yes")


LARGE = "argparse contextlib dataclasses enum hashlib json logging pathlib re typing"


@pytest.mark.parametrize("module", LARGE.split())
def test_it_imports_little(repo: Repo, tmp_path: Path, module: str) -> None:
    """Each of them takes as long as the look at thousands of files."""
    (tmp_path / f"{module}.py").write_text("raise SystemExit(77)\n")

    assert not asks_doit(repo, str(tmp_path))


@pytest.mark.parametrize("text", [TASK, '"""Recipes alone."""\n'])
def test_where_no_note_can_be_kept_nothing_is_lost(repo: Repo, text: str) -> None:
    (repo.root / "dodo.py").write_text(text)
    note = repo.root / ".qnnbuild/only-recipes"
    note.unlink()
    note.mkdir()
    done = repo.doit()

    assert (done.returncode, done.stderr, note.is_dir()) == (0, "", True)


def test_a_note_that_is_wrong_by_now_goes(repo: Repo) -> None:
    (repo.root / "dodo.py").write_text(TASK)
    repo.doit()

    assert not (repo.root / ".qnnbuild/only-recipes").exists()


def test_a_summary_for_github_is_doits_too(repo: Repo, poison: str, tmp_path: Path) -> None:
    assert asks_doit(repo, poison, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))


def test_a_note_that_came_with_a_repo_counts_as_none(repo: Repo, poison: str) -> None:
    note = repo.root / ".qnnbuild/only-recipes"
    note.write_text(note.read_text().replace("[", "[0, ", 1))

    assert asks_doit(repo, poison)
