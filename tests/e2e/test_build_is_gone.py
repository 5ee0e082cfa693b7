"""build/ is deleted: the gate puts it back with no plan, or a build does, and both say the same."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.small_repo import Done, SmallRepo, tiny_repo

BUNDLES = ["bundle/quiet/small@SM8750", "bundle/tiny@SM8550", "bundle/tiny@SM8750"]
TICK_S = 0.1
"""Longer than a time stamp counts as fresh."""


def shut(repo: SmallRepo) -> SmallRepo:
    for _ in range(2):
        time.sleep(TICK_S)
        assert repo.doit().ran == []
    return repo


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    repo = tiny_repo(tmp_path_factory.mktemp("base") / "repo")
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    return repo


@pytest.fixture
def repo(base: SmallRepo, tmp_path: Path) -> SmallRepo:
    """A copy that may be changed, behind its gate."""
    shutil.copytree(base.root, tmp_path / "repo")
    return shut(SmallRepo(tmp_path / "repo", base.env))


def everything(repo: SmallRepo) -> dict[str, bytes]:
    """The report, too."""
    report = (repo.root / "build" / "report.html").read_bytes()
    return {**repo.files(), "report.html": report}


def restored(done: Done) -> list[str]:
    lines = [line.split() for line in done.out.splitlines()]
    return sorted(words[1] for words in lines if words[0] == "restored" and "/" in words[1])


WAYS: dict[str, Callable[[SmallRepo], Done]] = {
    "qnnbuild build": lambda repo: repo.qnnbuild("build"),
    "doit": lambda repo: repo.doit(),
    "doit -n 2": lambda repo: repo.doit("-n", "2"),
    "the step summary of GitHub": lambda repo: repo.doit(
        env={"GITHUB_STEP_SUMMARY": str(repo.root / "summary.md")}
    ),
    "names": lambda repo: repo.doit("tiny", "quiet"),
    "events": lambda repo: repo.doit("--json-events", "events.jsonl"),
}
"""By the gate, and from the fourth on by a build with a plan."""


@pytest.mark.parametrize("way", WAYS)
def test_all_comes_back_and_is_told_whoever_does_it(repo: SmallRepo, way: str) -> None:
    before = everything(repo)
    count = int(repo.doit().summary.split()[-1])
    shutil.rmtree(repo.root / "build")
    done = WAYS[way](repo)

    assert (done.code, done.err) == (0, "")
    assert restored(done) == BUNDLES
    assert done.summary == f"restored 3, reused {count - 3}"
    assert everything(repo) == before
    assert repo.left_in_store() == []


def test_events_tell_of_each(repo: SmallRepo) -> None:
    shutil.rmtree(repo.root / "build")
    repo.doit("--json-events", "events.jsonl")
    lines = (repo.root / "events.jsonl").read_text().splitlines()
    ended = [json.loads(line) for line in lines]

    assert sorted(e["action"] for e in ended if e.get("how") == "restored") == BUNDLES


@pytest.mark.parametrize("way", list(WAYS)[:2])
def test_by_the_gate_the_next_build_has_nothing_to_look_at(repo: SmallRepo, way: str) -> None:
    shutil.rmtree(repo.root / "build")
    WAYS[way](repo)
    report = repo.root / "build" / "report.html"
    before = report.stat()
    done = repo.qnnbuild("build", env={"PYTHONVERBOSE": "1"})

    assert done.summary.startswith("nothing to do: reused ")
    assert "import 'doit" not in done.err
    assert report.stat() == before


def test_the_plan_agrees_with_what_the_gate_put_back(repo: SmallRepo) -> None:
    """A look at everything, without the gate, finds all of it as it has to be."""
    shutil.rmtree(repo.root / "build")
    repo.qnnbuild("build")
    (repo.root / ".qnnbuild" / "gate").unlink()
    done = repo.doit()

    assert done.summary.startswith("nothing to do: reused ")


def test_one_model_that_changed_is_built_beside_one_that_came_back(repo: SmallRepo) -> None:
    before = everything(repo)
    recipe = repo.root / "recipes" / "quiet.yaml"
    recipe.write_text(recipe.read_text().replace("[small]", "[small, none]"))
    shutil.rmtree(repo.root / "build")
    bad = repo.qnnbuild("build", "--continue")
    recipe.write_text(recipe.read_text().replace("[small, none]", "[small]"))
    good = repo.qnnbuild("build")

    assert bad.code != 0
    assert [name for name in restored(bad) if "tiny" in name] == BUNDLES[1:]
    assert good.code == 0
    assert repo.files().keys() == before.keys() - {"report.html"}


def test_a_copy_of_the_store_that_is_damaged_is_made_again(repo: SmallRepo) -> None:
    before = repo.files()
    shutil.rmtree(repo.root / "build")
    found = [p for p in (repo.root / ".qnnbuild" / "artifacts").rglob("*") if p.is_file()]
    largest = max(found, key=lambda path: path.stat().st_size)
    times = largest.stat()
    largest.chmod(0o644)
    largest.write_bytes(b"?" * times.st_size)
    done = repo.qnnbuild("build")

    assert done.code == 0
    assert done.ran != []
    assert repo.files() == before
