"""qnnbuild diff of git revisions: what the store has of their plans; nothing of them is run."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.cli import main
from tests.e2e.remote_servers import plain_server
from tests.e2e.small_repo import SmallRepo
from tests.models import scale_model

pytestmark = pytest.mark.slow

RECIPE = """\
model: one
license: MIT
source: {file: ../onnx/a.onnx}
chips: [SM8750]
"""
RUNS = "#!/bin/sh\necho ran >> {ran}\ncat\n"


def git(root: Path, *words: str) -> str:
    names = (
        "-c",
        "user.name=me",
        "-c",
        "user.email=me@example.com",
        "-c",
        "init.defaultBranch=main",
    )
    done = subprocess.run(
        ["git", *names, *words], cwd=root, text=True, capture_output=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "so")
    return git(root, "rev-parse", "HEAD")[:12]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallRepo]:
    """A git repo whose first commit is built, with a remote cache; tests leave it as it is."""
    top = tmp_path_factory.mktemp("revisions")
    with plain_server() as server:
        repo = SmallRepo.make(top / "repo", QNNBUILD_REMOTE_CACHE=server.url)
        repo.env["QNNBUILD_REMOTE_CACHE_MODE"] = "read-write"
        repo.model("a", scale_model(size=32))
        repo.recipe("one", RECIPE)
        (repo.root / ".gitignore").write_text(".qnnbuild\nbuild\n")
        git(repo.root, "init", "--quiet")
        commit(repo.root)
        git(repo.root, "tag", "first")
        done = repo.qnnbuild("build")
        assert done.code == 0, done.out + done.err
        yield repo


@pytest.fixture
def repo(built: SmallRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a store of its own that has what was built, in which one stands."""
    root = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(built.root), str(root))
    shutil.copytree(built.root / ".qnnbuild", root / ".qnnbuild")
    shutil.copytree(built.root / "build", root / "build")
    monkeypatch.chdir(root)
    monkeypatch.setenv("QNNBUILD_REMOTE_CACHE", "")
    monkeypatch.delenv("QNNBUILD_TRUST", raising=False)
    return root


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["diff", *words, "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return code, json.loads(said.out)


def test_a_revision_is_what_the_store_has_of_its_plan(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = git(repo, "status", "--porcelain", "--branch"), (repo / ".git/index").read_bytes()
    code, found = told(capsys, "first", "build")
    with closing(sqlite3.connect(repo / ".qnnbuild/records.db")) as records:
        checkouts = records.execute("select count(distinct checkout) from last").fetchone()

    assert (code, found["changes"], found["after"]["bundles"]) == (0, [], 1)
    assert found["before"] == {
        "name": f"first ({git(repo, 'rev-parse', 'first')[:12]})", "bundles": 1, "unbuilt": [],
    }  # fmt: skip
    assert (
        git(repo, "status", "--porcelain", "--branch"),
        (repo / ".git/index").read_bytes(),
    ) == before
    assert len(git(repo, "worktree", "list").splitlines()) == 1
    assert checkouts == (1,)


def test_what_was_never_built_of_a_revision_is_told(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "recipes/two.yaml").write_text(RECIPE.replace("one", "two"))
    commit(repo)
    code = main(["diff", "first", "HEAD", "--fail-on", "failed"])
    said = capsys.readouterr()

    assert code == 5
    assert said.out.splitlines()[1:] == ["two@SM8750  -      state  none    not built  WORSE"]
    assert "never built: context/two/two@SM8750\n" in said.err


def test_a_mistake_in_the_recipes_of_a_revision_is_told_and_the_others_are_compared(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "recipes/two.yaml").write_text("model: two\nlicence: MIT\n")
    commit(repo)
    code = main(["diff", "first", "HEAD"])
    said = capsys.readouterr()

    assert (code, said.out) == (0, "no change\n")
    assert "in its recipes: they are left out\n  recipes/two.yaml:" in said.err


def test_a_revision_of_which_nothing_was_built_is_an_error(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "onnx/a.onnx").write_bytes(scale_model(size=16).SerializeToString())
    short = commit(repo)
    code = main(["diff", "first", "HEAD"])

    assert code == 3
    assert capsys.readouterr().err == (
        f"error: no bundle of HEAD ({short}) is in the store or a remote cache\n"
        "  never built: fetch/one\n"
        "  with:        the tools of this machine: what other versions made does not count\n"
        "  hint: git worktree add beside this folder, build there, and compare the two build/\n"
    )


def test_a_remote_cache_is_asked(
    built: SmallRepo,
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.rmtree(repo / ".qnnbuild")
    monkeypatch.setenv("QNNBUILD_REMOTE_CACHE", built.env["QNNBUILD_REMOTE_CACHE"])
    code, found = told(capsys, "first", "build")

    assert (code, found["changes"], found["before"]["bundles"]) == (0, [], 1)


def test_an_index_that_a_revision_keeps_is_its_build(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / ".gitignore").write_text(".qnnbuild\n")
    commit(repo)
    shutil.rmtree(repo / ".qnnbuild")
    code, found = told(capsys, "HEAD", "build")

    assert (code, found["changes"], found["before"]["bundles"]) == (0, [], 1)


def test_nothing_of_a_revision_is_run(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(RUNS.format(ran=ran))
    program.chmod(0o755)
    (repo / ".gitattributes").write_text("*.onnx filter=evil\n")
    (repo / "tools.py").write_text(f"open({str(ran)!r}, 'w').close()\nTOOL = None\n")
    (repo / "dodo.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    commit(repo)
    for hook in ("post-checkout", "post-index-change"):
        shutil.copy(program, repo / ".git/hooks" / hook)
    for kind in ("smudge", "clean"):
        git(repo, "config", f"filter.evil.{kind}", str(program))
    git(repo, "config", "filter.evil.required", "true")
    git(repo, "config", "core.fsmonitor", str(program))
    monkeypatch.setenv("QNNBUILD_TRUST", "no")
    code, found = told(capsys, "HEAD", "build")

    assert (code, found["changes"]) == (0, [])
    assert not ran.exists()


def test_toolchains_that_a_revision_brings_are_not_imported(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    (repo / "tools.py").write_text(f"open({str(ran)!r}, 'w').close()\nTOOL = None\n")
    (repo / "qnnbuild.yaml").write_text("toolchains: {mine: {plugin: 'tools:TOOL'}}\n")
    short = commit(repo)
    git(repo, "checkout", "--quiet", "first")
    code = main(["--trust", "diff", "main", "build"])

    assert (code, ran.exists()) == (8, False)
    assert f"error: main ({short}) brings toolchains of its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("mian", "did you mean 'main'?"),
        ("0123abc", "a build folder, its index.json, a manifest.json, or what `git log` takes"),
    ],
)
def test_what_git_does_not_know_either_is_told(
    repo: Path, capsys: pytest.CaptureFixture[str], written: str, hint: str
) -> None:
    code = main(["diff", written, "build"])

    assert code == 3
    assert capsys.readouterr().err == (
        f"error: no such file or folder, and no revision of git: {written}\n  hint: {hint}\n"
    )


def test_a_shallow_clone_says_that_it_is(
    built: SmallRepo,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{built.root}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")

    assert main(["diff", "HEAD^1", "build"]) == 3
    assert "hint: this clone is shallow: git fetch --unshallow" in capsys.readouterr().err


def test_a_folder_that_a_revision_had_not_is_told(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "inner/recipes").mkdir(parents=True)
    (repo / "inner/qnnbuild.yaml").write_text("")
    os.chdir("inner")

    assert main(["diff", "HEAD", "../build"]) == 3
    assert "error: inner/ is not there at " in capsys.readouterr().err
