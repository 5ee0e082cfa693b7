"""qnnbuild init --from over all ONNX cases: the recipe it writes is one that prepares."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from qnnbuild import cli
from qnnbuild.session import Session, open_session
from qnnbuild.work.prepare import prepare
from qnnbuild.work.run import Run
from tests.cases.hopeless import HOPELESS
from tests.working import run_work, staged

HERE = Path(__file__).parent
CASES = json.loads((HERE / "index.json").read_text(encoding="utf-8"))
NO_RECIPE_HELPS = {
    **HOPELESS,
    "no_shape": "input 'x' has no shape in the file, not even how many dimensions it has",
}
GUESSED = {
    "sym_batch": "x [1, 3, 16, 16]: N = 1 (a batch of one)",
    "sym_hw": "x [1, 3, 224, 224]: H = 224 (pixels); W = 224 (pixels)",
    "zero_batch": "x [1, 3, 16, 16]: dimension 0 = 1 (a batch of one)",
}
SAID = {
    "int64_input": ("dtype: int32", "range: "),
    "double_input": ("cast: {float64: float32}",),
    "fp16_overflow": ("precision: w8a16", "calibration: {random: 8}"),
    "nonzero": ("cpu_fallback: allow",),
    "loop_op": ("cpu_fallback: allow",),
    "split_middle": ("cpu_fallback: allow",),
    "qdq_u8": ("precision: qdq",),
}


def case(name: str, folder: Path) -> Path:
    """The case's file, alone with its side files."""
    path = HERE / CASES[name]["path"]
    if CASES[name]["kind"] == "onnx":
        folder.mkdir(parents=True)
        return Path(shutil.copy(path, folder))
    return staged(path, folder) / "model.onnx"


def init(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, Path]:
    file = case(name, tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    code = cli.main(["init", "--from", file.name, "--chips", "SM8750", "--name", "it", *words])
    return code, tmp_path / "repo"


def prepared(session: Session, repo: Path, folder: Path) -> Run:
    """As a build prepares the only graph."""
    action = next(action for action in session.plan if action.step == "prepare")
    (graph,) = session.targets[0].graphs
    model = staged(repo / getattr(graph.source, "file", ""), folder / "staged")
    return run_work(
        prepare,
        folder,
        params=action.params,
        inputs={"model": model},
        outputs=("model", "baseline", "names", "report"),
    )


@pytest.mark.parametrize("name", [name for name in CASES if name not in NO_RECIPE_HELPS])
def test_the_recipe_of_each_case_has_no_mistakes_and_prepares(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, repo = init(name, tmp_path, monkeypatch)
    session = open_session(repo)
    report: Any = prepared(session, repo, tmp_path / "run").outputs["report"]
    inputs = json.loads((report / "report.json").read_text())["inputs"]
    text = (repo / "recipes" / "it.yaml").read_text()

    assert code == 0
    assert [target.chip.name for target in session.targets] == ["SM8750"]
    assert all(size > 0 for one in inputs for size in one["shape"])
    assert [word for word in SAID.get(name, ()) if word not in text] == []


@pytest.mark.parametrize("name", GUESSED)
def test_a_guess_is_told_and_marked(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, repo = init(name, tmp_path, monkeypatch)
    guess = GUESSED[name].partition(": ")[2]

    assert f"  guessed     {GUESSED[name]}\n" in capsys.readouterr().out
    assert f"# guessed: {guess}\n" in (repo / "recipes" / "it.yaml").read_text()


@pytest.mark.parametrize("name", NO_RECIPE_HELPS)
def test_what_no_recipe_mends_is_refused_and_nothing_is_written(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, repo = init(name, tmp_path, monkeypatch)
    said = capsys.readouterr().err

    assert code in (2, 3)
    assert NO_RECIPE_HELPS[name] in said
    assert "hint: " in said
    assert not (repo / "recipes").exists()
