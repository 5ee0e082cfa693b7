"""`qnnbuild store` on a store that real builds filled."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.small_repo import BIN, SmallRepo, tiny_repo

pytestmark = pytest.mark.long_file(seconds=70)

LONG_AGO = time.time() - 60 * 86_400


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    repo = tiny_repo(tmp_path_factory.mktemp("built") / "repo")
    done = repo.doit()
    assert done.code == 0, done.out + done.err
    return repo


@pytest.fixture(scope="module")
def everything(built: SmallRepo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that was built, as one file."""
    file = tmp_path_factory.mktemp("packed") / "everything.tar.gz"
    done = built.qnnbuild("store", "export", str(file))
    assert done.code == 0, done.err
    return file


@pytest.fixture
def repo(built: SmallRepo, everything: Path, tmp_path: Path) -> SmallRepo:
    """One of its own, in which everything is built; it was made elsewhere."""
    there = built.copy(tmp_path / "repo")
    took = there.qnnbuild("store", "import", str(everything))
    done = there.doit()
    assert (took.code, done.code, done.ran) == (0, 0, []), took.err + done.err
    return there


def artifacts(repo: SmallRepo) -> list[Path]:
    return sorted((repo.root / ".qnnbuild/artifacts").glob("*/*"))


def age(repo: SmallRepo) -> None:
    """As if all of the store had been made two months ago, and used last then."""
    for path in (repo.root / ".qnnbuild").rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix != ".db":
            os.utime(path, (LONG_AGO, LONG_AGO))
    db = sqlite3.connect(repo.root / ".qnnbuild/records.db")
    db.execute("update records set used=?", (int(LONG_AGO),))
    db.commit()
    db.close()


def test_what_is_exported_builds_elsewhere_without_a_run(built, repo, everything):
    again = repo.qnnbuild("store", "import", str(everything))

    assert repo.files() == built.files()
    assert re.fullmatch(
        r"took in (\d+) records with (\d+) artifacts \(.*\), \2 known\n", again.err
    ), again.err


def test_a_part_brings_what_it_stands_on(built, tmp_path):
    file = tmp_path / "part.tar"
    built.qnnbuild("store", "export", str(file), "bundle/tiny@SM8750")
    there = built.copy(tmp_path / "there")
    there.qnnbuild("store", "import", str(file))

    assert there.doit("bundle/tiny@SM8750").ran == []
    assert there.doit("bundle/tiny@SM8550").ran != []


def test_what_is_not_built_cannot_be_exported(built, tmp_path):
    fresh = built.copy(tmp_path / "fresh")
    done = fresh.qnnbuild("store", "export", str(tmp_path / "x.tar"))

    assert done.code == 3
    assert "is not built" in done.err
    assert not (tmp_path / "x.tar").exists()


def test_damage_is_found_dropped_and_made_again(repo):
    before = repo.files()
    path = max(artifacts(repo), key=lambda path: path.stat().st_size)
    stat = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    found = repo.qnnbuild("store", "verify")
    done = repo.doit()
    again = repo.qnnbuild("store", "verify")

    assert found.code == 6
    assert f"dropped: artifact {path.parent.name}/{path.name}" in found.out
    assert done.code == 0
    assert done.ran
    assert repo.files() == before
    assert (again.code, again.out) == (0, "")


def test_a_model_that_is_no_longer_there_goes(repo):
    (repo.root / "recipes/quiet.yaml").unlink()
    age(repo)
    would = json.loads(repo.qnnbuild("store", "gc", "--dry-run", "--json").out)
    did = json.loads(repo.qnnbuild("store", "gc", "--json").out)
    left = json.loads(repo.qnnbuild("store", "stats", "--json").out)
    done = repo.doit()

    assert would == did
    assert did["records"] > 0
    assert did["freed_bytes"] > 0
    assert left["loose"] == 0
    assert done.ran == []


def test_a_recipe_with_a_mistake_costs_nothing(repo):
    (repo.root / "recipes/quiet.yaml").write_text("model: [")
    age(repo)
    done = repo.qnnbuild("store", "gc", "--json")

    assert "all that was built here counts as wanted" in done.err
    assert json.loads(done.out)["records"] == 0


def test_a_size_is_kept_and_the_next_build_makes_what_it_needs(repo):
    before = repo.files()
    age(repo)
    done = repo.qnnbuild("store", "gc", "--max-size", "1K")
    left = json.loads(repo.qnnbuild("store", "stats", "--json").out)
    built_again = repo.doit()

    assert "needed by the next build, which makes them again" in done.err
    assert left["artifact_bytes"] <= 1024
    assert built_again.code == 0
    assert repo.files() == before


def test_a_build_that_runs_loses_nothing(repo):
    """It is stopped at several moments, and everything that can be taken is taken."""
    age(repo)
    doit = subprocess.Popen(
        [str(BIN / "doit"), "-a", "quiet"], cwd=repo.root, env=repo.env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    leases = repo.root / ".qnnbuild/builds"
    while doit.poll() is None and not list(leases.glob("*.lease")):
        time.sleep(0.01)
    builds = []
    for pause_s in (0.0, 0.3, 0.6):
        time.sleep(pause_s)
        doit.send_signal(signal.SIGSTOP)
        if list(leases.glob("*.lease")):  # it may be at its end on a quick machine
            words = ("gc", "--keep-days", "0", "--max-size", "0", "--json")
            builds.append(json.loads(repo.qnnbuild("store", *words).out)["builds"])
        doit.send_signal(signal.SIGCONT)
    out, _ = doit.communicate()

    assert doit.returncode == 0, out
    assert builds
    assert set(builds) == {1}
    assert repo.doit().ran == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("gc", "--max-size", "lots"), 2, "'lots' is no size"),
        (("gc", "--keep-days", "-1"), 2, "--keep-days is not below 0"),
        (("import", "nothing.tar"), 3, "no such file: nothing.tar"),
        (("import", "recipes/tiny.yaml"), 6, "cannot be taken in: it is damaged"),
        ((), 2, "WHAT"),
    ],
)
def test_a_mistake_is_told(built, words, code, told):
    done = built.qnnbuild("store", *words)

    assert done.code == code
    assert told in done.err


def test_a_repo_without_a_store_has_none(built, tmp_path):
    fresh = built.copy(tmp_path / "fresh")
    done = fresh.qnnbuild("store", "stats")

    assert (done.code, "there is no store yet" in done.err) == (3, True)
    assert not (fresh.root / ".qnnbuild").exists()
