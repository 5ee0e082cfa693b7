"""A repo of strangers in which everything that can be code is: none of it runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from qnnbuild.bridge.loader import STARTER
from qnnbuild.digest import digest_bytes
from tests.e2e.local import Handler, send, served
from tests.e2e.small_repo import SmallRepo
from tests.models import scale_bytes

RECIPE = """\
model: m
license: MIT
source: {export: {run: [python, make.py], needs: [make.py, a.onnx], makes: m.onnx}}
chips: SM8750
"""
STARTER_CFG = STARTER.with_name("doit.cfg")
RAN = "import os; open(os.path.join({ran!r}, {name!r}), 'w').close()\n"
SHADOWS = ("numpy.py", "yaml.py")
"""Modules in the place of others."""

COPY = "import shutil; shutil.copyfile('a.onnx', 'm.onnx')\n"


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The folder in which code of the repo leaves a file when it runs."""
    folder = tmp_path / "ran"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(tmp_path: Path, ran: Path) -> SmallRepo:
    made = SmallRepo.make(tmp_path / "repo")
    made.recipe("m", RECIPE)
    (made.root / "recipes" / "a.onnx").write_bytes(scale_bytes())
    code = {"recipes/make.py": COPY, "dodo.py": "", **dict.fromkeys(SHADOWS, "")}
    for name, rest in code.items():
        left = RAN.format(ran=str(ran), name=Path(name).name)
        (made.root / name).write_text(left + rest)
    return made


@pytest.mark.slow(seconds=20)
def test_code_of_strangers_does_not_run_and_what_it_made_once_is_taken(repo, ran):
    refused = repo.doit("--no-trust", "export/m")

    assert refused.code == 8
    assert "recipes/m.yaml:3:9: error: export/m runs code of this repo" in refused.out
    assert "warning: dodo.py is not read" in refused.err
    assert list(ran.iterdir()) == []
    for name in SHADOWS:  # doit itself puts the folder of a dodo.py first where that may run
        (repo.root / name).unlink()
    trusted = repo.doit("--trust", "export/m")

    assert trusted.ran == ["export/m"]
    assert sorted(path.name for path in ran.iterdir()) == ["dodo.py", "make.py"]
    for path in ran.iterdir():
        path.unlink()
    (repo.root / "doit.cfg").write_text("[GLOBAL]\nloader = evil\n[LOADER]\nevil = evil:Loader\n")
    taken = repo.qnnbuild("build", "--no-trust", "export/m")

    assert (taken.code, taken.ran) == (0, [])
    assert list(ran.iterdir()) == []


@pytest.mark.parametrize("words", [("build", "--no-trust", "--continue"), ("build", "-n", "4")])
def test_no_other_file_is_taken_for_the_dodo(repo, ran, words):
    (repo.root / "evil.py").write_text((repo.root / "dodo.py").read_text())
    (repo.root / "doit.cfg").write_text("[GLOBAL]\ndodoFile = evil.py\nloader = qnnbuild\n")
    built = repo.qnnbuild(*words, "fetch/x", env={"QNNBUILD_TRUST": "no"})

    assert "nothing is named 'fetch/x'" in built.err
    assert list(ran.iterdir()) == []


def test_a_file_that_only_the_repo_names_is_refused(repo, ran):
    (repo.root / "evil.py").write_text((repo.root / "dodo.py").read_text())
    (repo.root / "doit.cfg").write_text(
        STARTER_CFG.read_text().replace("[GLOBAL]", "[GLOBAL]\ndodoFile = evil.py")
    )
    built = repo.doit("--no-trust")

    assert built.code == 8
    assert "evil.py would run: it is code of this repo, which is not trusted" in built.err
    assert list(ran.iterdir()) == []


def test_a_store_that_came_with_the_repo_is_refused(repo):
    (repo.root / ".qnnbuild").mkdir()
    (repo.root / ".qnnbuild/records.db").write_bytes(b"")
    for words in (["init", "-q"], ["add", "-f", ".qnnbuild"]):
        subprocess.run(["git", *words], cwd=repo.root, check=True)
    checked = repo.qnnbuild("check", "--no-trust")
    warned = repo.qnnbuild("check")
    built = repo.qnnbuild("build", "--no-trust")

    told = "git tracks the store, which builds write: .qnnbuild/records.db\n"
    hint = "  hint: git rm -r --cached .qnnbuild, and a line .qnnbuild/ in .gitignore\n"
    why = "  not trusted: --no-trust or QNNBUILD_TRUST=no says so\n"
    assert (checked.code, checked.err) == (2, f"error: {told}{why}{hint}")
    assert warned.code == 0
    assert warned.err.startswith(f"warning: {told}{hint}")
    assert built.code == 8
    assert "the store .qnnbuild came with this repo, which is not trusted" in built.err
    subprocess.run(
        ["git", "rm", "-q", "--cached", ".qnnbuild/records.db"], cwd=repo.root, check=True
    )

    assert repo.qnnbuild("plan", "--no-trust").code == 0


def test_what_runs_nothing_works_in_a_pull_request_of_a_fork(repo, ran, tmp_path):
    event = tmp_path / "event.json"
    event.write_text(
        '{"pull_request": {"head": {"repo": {"full_name": "they/zoo"}},'
        ' "base": {"repo": {"full_name": "us/zoo"}}}}'
    )
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
    }
    planned = repo.qnnbuild("plan", env=github)
    made = repo.doit("export/m", env=github)

    assert planned.code == 0
    assert "stale  export/m" in planned.out
    assert made.code == 8
    assert "not trusted: a pull request of the fork they/zoo" in made.out
    assert list(ran.iterdir()) == []


@pytest.mark.slow
def test_logins_of_the_machine_are_for_repos_that_are_trusted(tmp_path):
    repo = SmallRepo.make(tmp_path / "plain")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password word\n")
    model = scale_bytes()

    def answer(handler: Handler) -> None:
        send(handler, model, 200 if handler.headers["Authorization"] else 401)

    with served(answer) as (address, asked):
        source = f"{{url: {address}/m.onnx, sha256: {digest_bytes(model)}}}"
        repo.recipe("m", f"model: m\nlicense: MIT\nsource: {source}\nchips: SM8750\n")
        login = {"NETRC": str(netrc)}
        refused = repo.doit("--no-trust", "fetch/m", env=login)
        made = repo.doit("--trust", "fetch/m", env=login)

    assert [handler.headers["Authorization"] is None for handler in asked] == [True, False]
    assert refused.code == 4
    assert "the server answered 401 Unauthorized" in refused.out
    assert "netrc, tokens and passwords of this machine are not used for this repo" in refused.out
    assert "hint: read its code first, then: doit --trust" in refused.out
    assert made.code == 0
