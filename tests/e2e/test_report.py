"""build/report.html after real builds: what it says is what is there."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.report.page import data_of
from tests.e2e.small_repo import SmallRepo, tiny_repo
from tests.models import tiny_conv

BROKEN = """\
model: broken
license: MIT
source:
  export:
    run: [sh, -c, "echo loading; echo 'no <b>weights</b>'; exit 3"]
    needs: [x.py]
    makes: m.onnx
chips: [SM8550, SM8750]
"""
IMPOSSIBLE = """\
model: hard
license: MIT
source: {file: ../onnx/deep.onnx}
chips: [SM8750]
graphs:
  net:
    verify: {chips: generations, min_sqnr_db: 300}
    expect_failure: {only: SM8750, reason: nobody reaches 300 dB, issue: owner/repo#7}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Two models that build, one that cannot, one that is known to fail."""
    repo = tiny_repo(tmp_path_factory.mktemp("built") / "repo")
    (repo.root / "recipes" / "x.py").write_text("")
    repo.recipe("broken", BROKEN)
    repo.recipe("hard", IMPOSSIBLE)
    done = repo.doit("--continue")
    assert done.code == 4, done.out + done.err
    return repo


def report(repo: SmallRepo) -> dict[str, Any]:
    found = data_of((repo.root / "build/report.html").read_text(encoding="utf-8"))
    assert found is not None
    return found


def model(told: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in told["models"] if one["name"] == name]
    return dict(found)


def states(told: dict[str, Any]) -> dict[str, str]:
    return {
        f"{model['name']}@{cell['chip']}": cell["state"]
        for model in told["models"]
        for row in model["rows"]
        for cell in row["cells"]
    }


def test_every_cell_has_the_state_that_the_build_left(built: SmallRepo) -> None:
    assert states(report(built)) == {
        "broken@SM8550": "failed",
        "broken@SM8750": "failed",
        "hard@SM8750": "known",
        "quiet@SM8750": "built",
        "tiny@SM8550": "built",
        "tiny@SM8750": "built",
    }


def test_a_cell_says_what_its_manifest_says(built: SmallRepo) -> None:
    (row,) = model(report(built), "tiny")["rows"]
    for cell in row["cells"]:
        manifest = json.loads((built.root / "build" / cell["folder"] / "manifest.json").read_text())
        for graph in cell["graphs"]:
            said, compiled = manifest["graphs"][graph["graph"]], graph["compiled"]
            path = built.root / "build" / cell["folder"] / f"{graph['graph']}_ctx_qnn.bin"
            key = manifest["actions"][said["compiled"]]["key"]

            assert compiled["digest"] == hashlib.sha256(path.read_bytes()).hexdigest()
            assert (compiled["key"], compiled["nodes"]) == (key, said["context"]["nodes"])
            assert compiled["sdk_build"] == said["context"]["sdk_build"]
            assert (built.root / ".qnnbuild" / compiled["log"]).exists()
        files = [p for p in (built.root / "build" / cell["folder"]).iterdir() if p.is_file()]
        assert cell["size"] == sum(path.stat().st_size for path in files)


def test_what_failed_is_told_with_the_tools_last_line_and_its_log(built: SmallRepo) -> None:
    told = model(report(built), "broken")
    failure = told["failures"]["export/broken"]

    assert told["rows"][0]["cells"][0]["failures"] == ["export/broken"]
    assert failure["last_lines"] == ["loading", "no <b>weights</b>"]
    assert failure["at"] == "recipes/broken.yaml:3:1"
    assert (built.root / ".qnnbuild" / failure["log"]).read_text() == "loading\nno <b>weights</b>\n"


def test_a_known_failure_is_told_in_the_report_and_in_the_index(built: SmallRepo) -> None:
    (cell,) = model(report(built), "hard")["rows"][0]["cells"]
    index = json.loads((built.root / "build/index.json").read_text())
    known = {"graph": "net", "reason": "nobody reaches 300 dB", "issue": "owner/repo#7"}

    assert {name: cell["known"][0][name] for name in known} == known
    assert cell["known"][0]["step"] == "verdict"
    assert "is below its bar" in cell["known"][0]["how"]
    assert index["expected_failures"] == [
        {**known, "model": "hard", "variant": "", "chip": "SM8750"}
    ]


def test_the_command_says_the_same_as_the_build(built: SmallRepo, tmp_path: Path) -> None:
    done = built.qnnbuild("report", "-o", str(tmp_path / "r.html"))
    as_data = built.qnnbuild("report", "--json")
    told = report(built)

    assert done.err.endswith(
        "r.html: 3 built, 2 failed, 1 known failure, 0 not built, 0 not possible\n"
    )
    assert data_of((tmp_path / "r.html").read_text(encoding="utf-8")) == told
    assert json.loads(as_data.out) == told


def test_what_failed_is_why_it_runs_again(built: SmallRepo) -> None:
    assert built.qnnbuild("why", "export/broken").out.splitlines()[1:] == [
        "  it failed the last time: the export command ended with exit code 3"
    ]


def test_a_bundle_that_was_to_be_made_anew_is_told_as_what_it_is(
    built: SmallRepo, tmp_path: Path
) -> None:
    repo = built.copy(tmp_path / "repo")
    repo.doit("bundle/tiny@SM8550")
    (repo.root / "onnx/deep.onnx").write_bytes(b"no model")
    done = repo.doit("--continue", "bundle/tiny*")
    lines = done.out.splitlines()

    assert "still of an earlier build: build/tiny/SM8550" in lines
    assert (repo.root / "build/tiny/SM8550").is_dir()


def test_a_report_of_an_unbuilt_repo_makes_no_store(built: SmallRepo, tmp_path: Path) -> None:
    repo = built.copy(tmp_path / "repo")
    done = repo.qnnbuild("report", "--json")

    assert set(states(json.loads(done.out)).values()) == {"stale"}
    assert not (repo.root / ".qnnbuild").exists()
    assert not (repo.root / "build").exists()


@pytest.mark.slow(seconds=50)
def test_a_second_build_leaves_the_report_alone_and_one_edit_keeps_the_others(
    tmp_path: Path,
) -> None:
    repo = tiny_repo(tmp_path / "repo")
    repo.doit()
    path = repo.root / "build/report.html"
    first = path.stat()
    for _ in range(2):
        time.sleep(0.06)
        repo.doit()
    same = path.stat()
    before = report(repo)
    repo.model("small", tiny_conv(4))
    done = repo.doit()
    after = report(repo)

    assert (same.st_mtime_ns, same.st_ino) == (first.st_mtime_ns, first.st_ino)
    assert all("/quiet" in name for name in done.ran)
    assert model(after, "tiny") == model(before, "tiny")
    assert model(after, "quiet") != model(before, "quiet")
    assert after["chips"] == before["chips"]


@pytest.mark.slow
def test_a_report_that_was_taken_away_comes_back(tmp_path: Path) -> None:
    repo = tiny_repo(tmp_path / "repo")
    for _ in range(3):
        repo.doit()
        time.sleep(0.06)
    (repo.root / "build/report.html").unlink()
    done = repo.doit()

    assert done.ran == []
    assert set(states(report(repo)).values()) == {"built"}


@pytest.mark.slow
def test_after_a_clean_the_report_tells_of_what_is_left(tmp_path: Path) -> None:
    repo = tiny_repo(tmp_path / "repo")
    repo.doit()
    repo.doit("clean", "bundle/tiny@SM8550")
    some = states(report(repo))
    repo.doit("clean")

    assert some == {"quiet@SM8750": "built", "tiny@SM8550": "stale", "tiny@SM8750": "built"}
    assert not (repo.root / "build").exists()
