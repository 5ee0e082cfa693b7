"""build/ is deleted: the gate puts it back with no plan, or a build does, and both say the same."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
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


def test_what_came_back_before_a_plan_is_told_and_counted_as_restored(repo: SmallRepo) -> None:
    """Somebody's file keeps one folder: the gate puts back the others, and the build that one."""
    count = int(repo.doit().summary.split()[-1])
    shutil.rmtree(repo.root / "build")
    notes = repo.root / "build" / "tiny" / "SM8550" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    done = repo.qnnbuild("build")

    assert restored(done) == BUNDLES
    assert done.summary == f"restored 3, reused {count - 3}"
    assert notes.read_text() == "mine"


def test_a_bad_recipe_beside_them_hides_nothing(repo: SmallRepo) -> None:
    """What came back is told, and then what is wrong."""
    shutil.rmtree(repo.root / "build")
    repo.recipe("bad", "model: bad\n")
    done = repo.doit()

    assert done.code == 2
    assert restored(done) == BUNDLES
    assert "recipes/bad.yaml" in done.err


def test_a_file_in_the_place_of_build_is_told_as_ever(repo: SmallRepo) -> None:
    shutil.rmtree(repo.root / "build")
    (repo.root / "build").write_text("mine")
    done = repo.doit()

    assert done.code == 6
    assert "cannot be kept" in done.out
    assert (repo.root / "build").read_text() == "mine"


def test_a_failure_that_is_over_is_not_told_as_the_last_run(repo: SmallRepo) -> None:
    good = (repo.root / "onnx" / "deep.onnx").read_bytes()
    (repo.root / "onnx" / "deep.onnx").write_bytes(b"junk")
    bad = repo.doit("--continue")
    (repo.root / "onnx" / "deep.onnx").write_bytes(good)
    shutil.rmtree(repo.root / "build" / "tiny")
    repo.doit()
    run = json.loads((repo.root / ".qnnbuild" / "last-run.json").read_text())

    assert bad.code != 0
    assert {one["how"] for one in run["actions"].values()} == {"restored"}


SLOW = """
import os, sys, time
from qnnbuild.engine import gate_restore, store
gate_restore.TOLD_BYTES = 0
copy = store.Store.copy
def slowly(self, digest, to):
    time.sleep(0.05)
    copy(self, digest, to)
store.Store.copy = slowly
sys.argv = ["qnnbuild", "build"]
from qnnbuild.start import main
sys.exit(main())
"""
"""`qnnbuild build` that tells before it copies, as it does of large bundles."""


def slow(repo: SmallRepo) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=repo.root, env=repo.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_with_its_number_and_leaves_nothing(repo: SmallRepo, number: int) -> None:
    before = everything(repo)
    shutil.rmtree(repo.root / "build")
    with slow(repo) as going:
        assert going.stdout is not None
        assert going.stdout.readline().startswith("restoring 3 bundles, ")
        time.sleep(0.1)  # among the copies, which take longer
        going.send_signal(number)
        out, err = going.communicate()
    left = [*repo.left_in_store(), *(repo.root / ".qnnbuild" / "builds").iterdir()]
    again = repo.qnnbuild("build")

    assert (going.returncode, err) == (128 + number, "")
    assert out.startswith("stopped: restored ")
    assert left == []
    assert again.code == 0
    assert everything(repo) == before


def test_a_reader_that_has_gone_away_changes_nothing(repo: SmallRepo) -> None:
    before = everything(repo)
    shutil.rmtree(repo.root / "build")
    with slow(repo) as going:
        assert going.stdout is not None
        going.stdout.close()
        assert going.stderr is not None
        err = going.stderr.read()

    assert (going.returncode, err) == (0, "")
    assert everything(repo) == before
