"""From a recipe to `qnnbuild debug`: below its bar, explained, judged anew without a compile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from qnnbuild.cli import main
from qnnbuild.engine.state import Current
from qnnbuild.errors import NotGood
from qnnbuild.session import open_builder, open_session
from tests.graphs import model

RECIPE = """\
model: net
license: MIT
source: {file: net.onnx}
chips: [SM8750]
graphs:
  net:
    inputs: {x: {range: [-3, 3]}}
    verify: {min_sqnr_db: BAR}
"""
OVERFLOW = """g (float[1, 64] x) => (float[1, 64] y) {
  [big] b = Mul (x, k) [square] s = Mul (b, b) [small] y = Mul (s, d) }"""
NAME = "verdict/net/net@SM8750"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All is built up to the numbers, which no bar of 30 dB lets pass."""
    folder = tmp_path_factory.mktemp("repo")
    made = model(
        OVERFLOW, k=np.full((1, 64), 300, np.float32), d=np.full((1, 64), 1e-3, np.float32)
    )
    (folder / "recipes").mkdir()
    (folder / "recipes" / "net.onnx").write_bytes(made.SerializeToString())
    (folder / "qnnbuild.yaml").touch()
    with_bar(folder, "30")
    session = open_session(folder)
    with open_builder(session) as builder:
        for action in session.plan.upto([NAME]):
            if action.name != NAME:
                builder.make(action.name)
    return folder


def with_bar(repo: Path, bar: str) -> None:
    (repo / "recipes" / "net.yaml").write_text(RECIPE.replace("BAR", bar))


def test_below_the_bar_there_is_no_bundle(repo: Path) -> None:
    with_bar(repo, "30")
    with open_builder(open_session(repo)) as builder, pytest.raises(NotGood) as caught:
        builder.make(NAME)

    problem = caught.value.problems[0]
    assert problem.message == (
        "'net' on SM8750 is below its bar: y: SQNR 2.6 dB, at least 30 dB wanted"
    )
    assert problem.hint == (
        "qnnbuild debug verify/net/net@SM8750 lists its layers and finds the first bad one"
    )
    assert problem.at is not None
    assert problem.at.file == "recipes/net.yaml"


def test_a_changed_bar_judges_anew_and_compiles_nothing(repo: Path) -> None:
    with_bar(repo, "2")
    session = open_session(repo)
    with open_builder(session) as builder:
        stale = [
            action.name
            for action in session.plan.upto([NAME])
            if not isinstance(builder.state(action.name), Current)
        ]
        outcome = builder.make(NAME)

    assert stale == [NAME]
    assert outcome.how == "made"


def test_the_first_bad_layer_is_named(
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(repo)
    code = main(["debug", NAME, "--html", str(tmp_path / "layers.html")])

    assert code == 0
    assert "<p>the first bad layer is square (Mul): 2.5 dB" in (tmp_path / "layers.html").read_text(
        encoding="utf-8"
    )
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "the first bad layer is square (Mul): 2.5 dB, below 20 dB, on sample 000000",
        "what it is computed from has 71.2 dB",
        "its values: 809842 is beyond the fp16 range of ±65504",
        "output y: 2.5 dB here, 2.5 dB as shipped",
    ]


def test_the_layers_come_as_data_too(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    code = main(["debug", "context/net/net@SM8750", "--sample", "1", "--bar", "1", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert code == 0
    assert (found["name"], found["sample"], found["bar_db"]) == (
        "debug/net/net@SM8750",
        "000001",
        1,
    )
    assert [layer["node"] for layer in found["layers"]] == ["big", "square", "small"]


def test_what_is_not_there_is_told(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    code = main(["debug", NAME, "--sample", "7"])

    assert code == 3
    assert "there is no sample 7" in capsys.readouterr().err
