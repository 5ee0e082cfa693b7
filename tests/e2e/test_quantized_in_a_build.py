"""Real doit, compiler and emulator on quantized graphs: what runs when samples or bars change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.small_repo import SmallRepo
from tests.models import tiny_conv

pytestmark = pytest.mark.slow(seconds=50)

GRAPHS = ("a", "b")
RECIPE = """\
model: q
license: MIT
source: {file: "../onnx/{graph}.onnx"}
graphs:
  a:
    precision: w8a8
    calibration: ../calib/a/*.npz
    verify: {chips: generations, inputs: ../inputs/a.npz, min_sqnr_db: 15}
  b:
    precision: w8a16
    calibration: ../calib/b/*.npz
    verify: {chips: generations, inputs: ../inputs/b.npz, min_sqnr_db: 15}
chips: [SM8750]
"""
WORDS = {"a": "w8a8", "b": "w8a16"}
ALONE = ("reference", "verify", "verdict")
BUNDLE = "bundle/q@SM8750"


def save(path: Path, scale: float = 1.0, seed: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = np.random.default_rng(seed).standard_normal((1, 3, 16, 16))
    np.savez(path, x=(scale * picture).astype(np.float32))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Built and verified; tests take a copy, store and all."""
    repo = SmallRepo.make(tmp_path_factory.mktemp("quantized") / "repo")
    for number, graph in enumerate(GRAPHS):
        repo.model(graph, tiny_conv(8 + 4 * number))
        save(repo.root / "inputs" / f"{graph}.npz", seed=9)
        for sample in range(3):
            save(repo.root / "calib" / graph / f"{sample}.npz", seed=10 * number + sample)
    repo.recipe("q", RECIPE)
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    assert {name.partition("/")[0] for name in done.ran} > {"calibrate", "convert", "verify"}
    return repo


@pytest.fixture
def repo(base: SmallRepo, tmp_path: Path) -> SmallRepo:
    shutil.copytree(base.root, tmp_path / "repo")
    copied = SmallRepo(tmp_path / "repo", base.env)
    assert copied.doit().ran == []
    return copied


def quantized_again(graph: str) -> list[str]:
    return [
        f"calibrate/q/{graph}",
        f"convert/q/{graph}+{WORDS[graph]}",
        f"context/q/{graph}@SM8750",
        f"verify/q/{graph}@SM8750",
        f"verdict/q/{graph}@SM8750",
        BUNDLE,
    ]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_changed_calibration_file_quantizes_its_graph_again_and_no_other(
    graph: str, repo: SmallRepo
) -> None:
    save(repo.root / "calib" / graph / "1.npz", scale=2)
    done = repo.doit()

    assert done.code == 0
    assert done.ran == quantized_again(graph)


def test_one_calibration_file_more_quantizes_its_graph_again(repo: SmallRepo) -> None:
    save(repo.root / "calib" / "b" / "3.npz", scale=2)

    assert repo.doit().ran == quantized_again("b")


def test_the_order_of_calibration_files_counts(repo: SmallRepo) -> None:
    (repo.root / "calib" / "a" / "0.npz").rename(repo.root / "calib" / "a" / "9.npz")
    ran = repo.doit().ran

    assert ran[:2] == ["calibrate/q/a", "convert/q/a+w8a8"]
    assert not any("/b" in name for name in ran)


def test_going_back_to_the_old_calibration_file_runs_nothing(
    repo: SmallRepo, base: SmallRepo
) -> None:
    save(repo.root / "calib" / "a" / "1.npz", scale=2)
    changed = repo.doit()
    shutil.copy(base.root / "calib" / "a" / "1.npz", repo.root / "calib" / "a" / "1.npz")
    back = repo.doit()

    assert changed.ran == quantized_again("a")
    assert back.ran == []
    assert repo.files() == base.files()


def test_a_changed_bar_judges_again_and_neither_compiles_nor_runs_the_binary(
    repo: SmallRepo,
) -> None:
    repo.recipe("q", RECIPE.replace("b.npz, min_sqnr_db: 15", "b.npz, min_sqnr_db: 16"))
    done = repo.doit()

    assert done.code == 0
    assert done.ran == ["verdict/q/b@SM8750", BUNDLE]


def test_a_bar_that_does_not_hold_any_more_fails_without_compiling(repo: SmallRepo) -> None:
    repo.recipe("q", RECIPE.replace("a.npz, min_sqnr_db: 15", "a.npz, min_sqnr_db: 99"))
    done = repo.doit()

    assert done.code == 5
    assert done.ran == []
    assert "error: 'a' on SM8750 is below its bar: scores: SQNR " in done.out
    assert json.loads((repo.root / "build" / "index.json").read_text())["published"] == []


def test_all_comes_again_to_the_byte(repo: SmallRepo) -> None:
    done = repo.qnnbuild("rebuild", "*", "--json")

    assert done.code == 0
    assert done.out.count('"verdict": "same"') >= 2 * len(ALONE)
    assert done.out.count('"verdict"') == done.out.count('"verdict": "same"')
