"""qnnbuild init --from: where it writes, what it copies, what it refuses."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from qnnbuild import cli
from qnnbuild.session import open_session
from tests.graphs import model

GRAPH = "g (float[batch, 4] x) => (float[batch, 4] y) { y = Relu (x) }"
TOKENS = """g (int64[N, seq] ids) => (float[N, seq, 8] y, int64[N, seq] best) {
  y = Gather <axis = 0> (table, ids)
  best = ArgMax <axis = 2, keepdims = 0> (y)
}"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def saved(path: Path, text: str = GRAPH, **weights: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model(text, **weights), path)
    return path


def init(*words: str) -> int:
    return cli.main(["init", *words])


def test_a_folder_with_a_model_becomes_a_repo_around_it(here: Path) -> None:
    saved(here / "Relu Net.onnx")
    code = init("--from", "Relu Net.onnx", "--chips", "8 elite")
    session = open_session(here)

    assert code == 0
    assert [f"{t.model}@{t.chip.name}" for t in session.targets] == ["relu-net@SM8750"]
    assert "source: {file: ../Relu Net.onnx}" in (here / "recipes/relu-net.yaml").read_text()
    assert (here / "dodo.py").exists()
    assert not (here / "recipes/silero-vad.yaml").exists()


def test_in_a_repo_only_the_recipe_is_added_and_none_is_overwritten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "qnnbuild.yaml").write_text("")
    saved(here / "onnx" / "a.onnx")
    codes = [init("--from", "onnx/a.onnx", "--yes") for _ in range(2)]

    assert codes == [0, 2]
    assert sorted(path.name for path in here.iterdir()) == ["onnx", "qnnbuild.yaml", "recipes"]
    assert "a.yaml is there already" in capsys.readouterr().err


def test_what_lies_outside_is_copied_with_its_side_file(here: Path, tmp_path: Path) -> None:
    outside = tmp_path / "else" / "big.onnx"
    outside.parent.mkdir()
    onnx.save(
        model("g (float[1, 64] x) => (float[1, 64] y) { y = Add (x, w) }", w=np.ones((1, 64), "f")),
        outside,
        save_as_external_data=True,
        location="big.data",
        size_threshold=0,
    )
    code = init("--from", str(outside))

    assert code == 0
    assert (here / "onnx/big/big.onnx").read_bytes() == outside.read_bytes()
    assert (here / "onnx/big/big.data").read_bytes() == (outside.parent / "big.data").read_bytes()
    assert "file: ../onnx/big/big.onnx" in (here / "recipes/big.yaml").read_text()


def test_several_files_are_the_graphs_of_one_model(here: Path) -> None:
    for name in ("encoder", "decoder"):
        saved(here / f"{name}.onnx")
    code = init("--from", "encoder.onnx", "--from", "decoder.onnx", "--name", "speech")
    (target, *_) = open_session(here).targets

    assert code == 0
    assert (target.model, [graph.name for graph in target.graphs]) == (
        "speech",
        ["encoder", "decoder"],
    )


def test_whole_numbers_of_64_bits_become_narrower_and_stay_in_their_table(here: Path) -> None:
    saved(here / "tokens.onnx", TOKENS, table=np.ones((30, 8), np.float32))
    code = init("--from", "tokens.onnx", "--dim", "seq=16", "--chips", "SM8750")
    text = (here / "recipes/tokens.yaml").read_text()
    (graph,) = open_session(here).targets[0].graphs
    ids = graph.inputs["ids"]

    assert code == 0
    assert (ids.shape, ids.dtype, ids.range) == ((1, 16), "int32", (0, 29))
    assert {name: one.dtype for name, one in graph.outputs.items()} == {"y": None, "best": "int32"}
    assert "# guessed: N = 1 (a batch of one)" in text


def test_a_graph_is_cut_behind_the_tensors_that_are_kept(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the hint says can be done as it stands there."""
    made = model("g (float[4] x) => (float[4] y) { a = Relu (x) y = my.ops.Swish (a) }")
    made.opset_import.add(domain="my.ops", version=1)
    onnx.save(made, here / "net.onnx")
    whole = init("--from", "net.onnx")
    said = capsys.readouterr().err
    cut = init("--from", "net.onnx", "--output", "a")
    other = init("--from", "net.onnx", "--name", "o", "--output", "a", "--output", "b")

    twice = init("--from", "net.onnx", "--name", "t", "--output", "a", "--output", "a")

    assert (whole, cut, other, twice) == (2, 0, 2, 0)
    assert "hint: --output a cuts the graph before it; or " in said
    assert "outputs: [a]" in (here / "recipes/net.yaml").read_text()
    assert "--output b: there is no such tensor" in capsys.readouterr().err


def test_each_chip_gets_a_precision_that_it_takes(here: Path) -> None:
    saved(here / "m.onnx")
    init("--from", "m.onnx", "--chips", "SM8750,SM8350,SM7325", "--name", "m")
    found = {t.chip.name: t.graphs[0].precision for t in open_session(here).targets}

    assert found["SM8750"] == "fp16"
    assert found["SM8350"] == "fp32"
    assert found["SM7325"] == "w8a16"


def test_on_a_terminal_sizes_are_asked_and_enter_takes_the_guess(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    saved(here / "tokens.onnx", TOKENS, table=np.ones((30, 8), np.float32))
    monkeypatch.setattr("sys.stdin", Terminal("\nmany\n7\n"))
    monkeypatch.setattr("sys.stderr", Terminal())
    code = init("--from", "tokens.onnx")
    (graph,) = open_session(here).targets[0].graphs

    assert code == 0
    assert graph.inputs["ids"].shape == (1, 7)
    assert "guessed" not in (here / "recipes/tokens.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "m.onnx", "--chips", "8 elit"), "'Snapdragon 8 Elite'"),
        (("--from", "m.onnx", "--dim", "batsch=2"), "did you mean 'batch'?"),
        (("--from", "m.onnx", "--shape", "x=2,five"), "--shape: 'five' is no size"),
        (("--from", "m.onnx", "--shape", "x"), "--shape x: there is no '='"),
        (("--from", "n.onnx"), "ONNX files there: m.onnx"),
        (("--from", "."), "--from m.onnx"),
        (("new", "--chips", "SM8750"), "--chips says something of a model, and there is none"),
        ((), "qnnbuild init --from MODEL.onnx for a model of your own"),
    ],
)
def test_what_cannot_be_meant_is_said_and_nothing_is_written(
    words: tuple[str, ...], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(here / "m.onnx")
    code = init(*words)

    assert code in (2, 3)
    assert said in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["m.onnx"]
