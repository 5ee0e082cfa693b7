"""`precision: auto` on real doit: what a changed bar quantizes, and where a stop leaves it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from qnnbuild.model.precisions import AUTO_FROM, auto_word
from qnnbuild.model.recipe import Quantization
from tests.e2e.small_repo import SmallRepo
from tests.quantizing import write_feeds
from tests.searching import with_outlier

RECIPE = """\
model: m
license: MIT
source: {{file: ../onnx/m.onnx}}
chips: [SM8750]
graphs:
  g:
    precision: {{auto: [w8a8, w8a16], per_channel: false}}
    calibration: ../samples/*.npz
    verify: {{chips: none, inputs: ../samples/*.npz, {bars}}}
"""
pytestmark = pytest.mark.slow(seconds=50)
WORD = auto_word(Quantization(per_channel=False), AUTO_FROM)
ONE_LIFTED = "min_sqnr_db: 20"  # 5.8 dB in w8a8; one layer is bad
NOTHING_HOLDS = "min_sqnr_db: 90"
ALL_HOLD = "min_sqnr_db: 2"


def ask(repo: SmallRepo, bars: str) -> None:
    repo.recipe("m", RECIPE.format(bars=bars))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Built once, with a bar that one lifted layer holds; tests leave it as it is."""
    repo = SmallRepo.make(tmp_path_factory.mktemp("base") / "repo")
    repo.model("m", with_outlier())
    write_feeds(with_outlier(), repo.root / "samples", count=6)
    ask(repo, ONE_LIFTED)
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    return repo


@pytest.fixture
def repo(base: SmallRepo, tmp_path: Path) -> SmallRepo:
    shutil.copytree(base.root, tmp_path / "repo")
    return SmallRepo(tmp_path / "repo", base.env)


def quantized(repo: SmallRepo) -> Counter[str]:
    """Try → how often it was quantized and measured so far; what passed on is not counted."""
    with sqlite3.connect(repo.root / ".qnnbuild" / "records.db") as db:
        records = [json.loads(row[0]) for row in db.execute("select record from records")]
    return Counter(
        record["name"].rpartition("/")[2]
        for record in records
        if record["name"].startswith("search/")
        and "model.onnx" in record["outputs"]["model"]["files"]
    )


def chosen(repo: SmallRepo) -> tuple[str, list[str]]:
    manifest = json.loads((repo.root / "build/m/SM8750/manifest.json").read_text())
    search = manifest["graphs"]["g"]["quantization"]["search"]
    return search["word"], search["lifted"]


def test_the_bar_stops_the_search_at_the_first_form_that_holds_it(base: SmallRepo) -> None:
    assert quantized(base) == {"00-w8a8": 1, "01-w8a8-lift-1": 1}
    assert chosen(base) == ("w8a8", ["Gemm_0"])


def test_a_raised_bar_makes_further_tries_and_none_again(repo: SmallRepo) -> None:
    before = quantized(repo)
    ask(repo, NOTHING_HOLDS)
    done = repo.doit()
    after = quantized(repo)

    assert done.code == 0
    assert set(after) > set(before)
    assert set(after.values()) == {1}
    assert chosen(repo) == ("float", [])


def test_a_lowered_bar_quantizes_nothing(repo: SmallRepo) -> None:
    before = quantized(repo)
    ask(repo, ALL_HOLD)
    done = repo.doit()

    assert done.code == 0
    assert quantized(repo) == before
    assert chosen(repo) == ("w8a8", [])


def test_a_bar_that_decides_the_same_judges_and_compiles_nothing(repo: SmallRepo) -> None:
    ask(repo, "min_sqnr_db: 21")
    done = repo.doit()

    assert {name.partition("/")[0] for name in done.ran} == {"judge", "convert", "bundle"}


def test_a_bar_that_was_there_before_runs_nothing(repo: SmallRepo) -> None:
    for bars in (ALL_HOLD, NOTHING_HOLDS):
        ask(repo, bars)
        assert repo.doit().code == 0
    ask(repo, ONE_LIFTED)

    assert repo.doit().ran == []


def test_a_search_that_was_stopped_goes_on_where_it_was(repo: SmallRepo, tmp_path: Path) -> None:
    fresh = repo.copy(tmp_path / "fresh")
    stopped = fresh.doit(f"judge/m/g/{WORD}/00-w8a8")
    done = fresh.doit()

    assert stopped.ran[-1] == f"judge/m/g/{WORD}/00-w8a8"
    assert f"search/m/g/{WORD}/00-w8a8" not in done.ran
    assert quantized(fresh) == {"00-w8a8": 1, "01-w8a8-lift-1": 1}


def test_an_outputs_own_bar_decides_in_the_search_too(repo: SmallRepo) -> None:
    before = quantized(repo)
    ask(repo, "min_sqnr_db: 20, outputs: {y: {min_sqnr_db: 2}}")
    done = repo.doit()

    assert done.code == 0
    assert quantized(repo) == before
    assert chosen(repo) == ("w8a8", [])
