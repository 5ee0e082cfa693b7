"""The search for a precision: tries in a row, and what each layer costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from qnnbuild.model.recipe import Quantization
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.sensitivity import layers_of
from tests.graphs import model
from tests.models import tiny_conv
from tests.quantizing import quantized
from tests.searching import OUTPUTS, Search, with_outlier

W8A8 = Quantization(per_channel=False)
W8A16 = Quantization(activations=16, per_channel=False)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {
        f"{output}/{path.name}": path.read_bytes()
        for output in OUTPUTS
        for path in sorted((folder / "search/out" / output).iterdir())
    }


def said(run: Run) -> dict[str, Any]:
    """What the quantization.json of a run says."""
    text = (run.outputs["quantization"] / "quantization.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def test_one_layer_is_lifted_where_one_is_bad(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.attempt("w8a8", W8A8)
    first = search.verdict()
    search.attempt("w8a8", W8A8, lifts=1, listed=search.sensitivity())
    second = search.verdict()

    assert (first["holds"], first["nodes"]) == (False, {"8": 8})
    assert first["below"] == ["CPU: y: SQNR 5.8 dB, at least 21 dB wanted"]
    assert (second["holds"], second["lifted"]) == (True, ["Add_a"])
    assert second["nodes"] == {"8": 6, "16": 2}


def test_what_is_taken_is_the_first_that_holds_and_tells_what_was_tried(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.attempt("w8a8", W8A8)
    run = search.attempt("w8a8", W8A8, lifts=1, listed=search.sensitivity())
    search.attempt("w8a16", W8A16)
    search.attempt("float", None)
    taken = search.taken()
    told = said(taken)["search"]

    assert (told["word"], told["holds"], told["lifted"]) == ("w8a8", True, ["Add_a"])
    assert [(one["word"], one["holds"]) for one in told["tried"]] == [
        ("w8a8", False),
        ("w8a8", True),
    ]
    assert (taken.outputs["model"] / "model.onnx").read_bytes() == (
        run.outputs["model"] / "model.onnx"
    ).read_bytes()


def test_it_says_which_nodes_have_16_bits(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.attempt("w8a8", W8A8)
    found = said(search.attempt("w8a8", W8A8, lifts=1, listed=search.sensitivity()))

    assert found["sixteen_bit_nodes"] == ["Add_a", "MatMul_m2"]
    assert found["tensors"]["a"]["dtype"] == "uint16"


def test_the_worst_layer_comes_first_and_the_list_says_what_lifting_it_means(
    tmp_path: Path,
) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.attempt("w8a8", W8A8)
    found = json.loads((search.sensitivity() / "sensitivity.json").read_text())

    assert found["needed"]
    assert found["layers"][0] == {
        "layer": "Add_a",
        "lift": ["Add_a", "MatMul_m2"],
        "operator": "Add",
        "sqnr_db": 4.8,
        "tensor": "a",
    }
    assert found["layers"][1]["sqnr_db"] > 30
    assert "y" in [layer["tensor"] for layer in found["layers"]]


def test_tries_after_a_good_one_are_alike_and_do_no_work(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), -20.0)
    search.attempt("w8a8", W8A8)
    listed = search.sensitivity()
    search.attempt("w8a8", W8A8, lifts=1, listed=listed)
    search.attempt("w8a16", W8A16)
    search.attempt("float", None)
    (_, lifted, wide, float_) = map(files, search.tries)

    assert lifted == wide == float_
    assert lifted["numbers/numbers.json"] == b'{\n "made": false\n}\n'
    assert json.loads((listed / "sensitivity.json").read_text()) == {"needed": False, "layers": []}


def test_a_decision_knows_nothing_of_bars_and_numbers(tmp_path: Path) -> None:
    for bar in (20.0, 25.0):
        search = Search(tmp_path / str(bar), with_outlier(), bar)
        search.attempt("w8a8", W8A8)

        assert (search.tries[0] / "judge/out/decision/decision.json").read_text() == (
            '{\n "go": true\n}\n'
        )


def test_lifting_passes_on_when_all_layers_are_lifted(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 90.0)
    search.attempt("w8a8", W8A8)
    listed = search.sensitivity()
    search.attempt("w8a8", W8A8, lifts=16, listed=listed)
    search.attempt("w8a8", W8A8, lifts=32, listed=listed)
    passed = search.verdict()
    search.attempt("w8a16", W8A16)

    assert passed == {"made": False, "holds": False}
    assert search.verdict()["made"]


def test_the_float_graph_is_the_last_resort_and_said_so(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 90.0)
    search.attempt("w8a16", W8A16)
    search.attempt("float", None)
    run = search.taken()
    told = said(run)["search"]

    assert (told["word"], told["holds"], told["sqnr_db"]) == ("float", True, {})
    assert told["tried"][0]["below"] != []
    assert [(notice.message, notice.place) for notice in run.warnings] == [
        ("no quantized form that was tried holds the bar: the graph stays float", "precision")
    ]
    assert onnx.load(run.outputs["model"] / "model.onnx") == onnx.load(
        tmp_path / "model/model.onnx"
    )


def test_each_output_has_a_bar_of_its_own_in_the_search_too(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.bars["outputs"] = {"y": {"min_sqnr_db": 2.0}}
    search.attempt("w8a8", W8A8)

    assert search.verdict()["holds"]


def test_what_is_excused_decides_nothing(tmp_path: Path) -> None:
    graph = with_outlier()
    graph.graph.output.add(name="t3").type.CopyFrom(graph.graph.output[0].type)
    search = Search(tmp_path, graph, 20.0)
    search.bars["outputs"] = {"y": {"excused": "nobody reads it"}}
    search.attempt("w8a8", W8A8)
    (said,) = search.verdict()["below"]

    assert said.startswith("CPU: t3: SQNR ")


def test_random_numbers_cannot_be_searched_with(tmp_path: Path) -> None:
    graph = model(
        """
        noisy (float[1, 8] x) => (float[1, 8] y) {
           r = RandomNormalLike(x)
           y = Add(x, r)
        }"""
    )
    search = Search(tmp_path, graph, 20.0)
    with pytest.raises(WorkError) as refused:
        search.attempt("w8a8", W8A8)

    assert refused.value.message == (
        "a precision cannot be searched for: it computes with random numbers (RandomNormalLike)"
    )
    assert refused.value.exit_code == 2


def test_what_only_moves_values_is_lifted_with_them(tmp_path: Path) -> None:
    made = quantized(tmp_path / "made", tiny_conv())
    found = {layer.tensors[0]: list(layer.nodes) for layer in layers_of(made.model)}

    assert found["r"] == ["conv", "flatten", "dense"]
