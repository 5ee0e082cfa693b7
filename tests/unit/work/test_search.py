"""The search for a precision: tries in a row, and what each layer costs."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from qnnbuild.model.recipe import Quantization
from qnnbuild.work.run import WorkError
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
        for path in sorted((folder / output).iterdir())
    }


def test_one_layer_is_lifted_where_one_is_bad(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.attempt("w8a8", W8A8)
    first = search.said()
    search.attempt("w8a8", W8A8, lifts=1, listed=search.sensitivity())
    second = search.said()

    assert (first["holds"], first["nodes"]) == (False, {"8": 8})
    assert first["below"] == ["CPU: y: SQNR 5.8 dB, at least 21 dB wanted"]
    assert (second["holds"], second["lifted"]) == (True, ["Add_a"])
    assert second["nodes"] == {"8": 6, "16": 2}
    assert [(one["word"], one["holds"]) for one in second["tried"]] == [
        ("w8a8", False),
        ("w8a8", True),
    ]


def test_it_says_which_nodes_have_16_bits(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 20.0)
    search.attempt("w8a8", W8A8)
    run = search.attempt("w8a8", W8A8, lifts=1, listed=search.sensitivity())
    said = json.loads((run.outputs["quantization"] / "quantization.json").read_text())

    assert said["sixteen_bit_nodes"] == ["Add_a", "MatMul_m2"]
    assert said["tensors"]["a"]["dtype"] == "uint16"


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


def test_a_try_after_a_good_one_hands_on_the_same_bytes(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), -20.0)
    search.attempt("w8a8", W8A8)
    assert search.last is not None
    good = files(search.last)
    listed = search.sensitivity()
    search.attempt("w8a8", W8A8, lifts=1, listed=listed)
    search.attempt("float", None)

    assert search.said()["holds"]
    assert files(search.last) == good
    assert json.loads((listed / "sensitivity.json").read_text()) == {"needed": False, "layers": []}


def test_lifting_passes_on_when_all_layers_are_lifted(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 90.0)
    search.attempt("w8a8", W8A8)
    listed = search.sensitivity()
    search.attempt("w8a8", W8A8, lifts=16, listed=listed)
    assert search.last is not None
    all_of_them = files(search.last)
    search.attempt("w8a8", W8A8, lifts=32, listed=listed)

    assert files(search.last) == all_of_them
    assert len(search.said()["tried"]) == 2


def test_the_float_graph_is_the_last_resort_and_said_so(tmp_path: Path) -> None:
    search = Search(tmp_path, with_outlier(), 90.0)
    search.attempt("w8a16", W8A16)
    run = search.attempt("float", None)

    assert search.said()["word"] == "float"
    assert search.said()["tried"][0]["below"] != []
    assert [notice.message for notice in run.warnings] == [
        "no quantized form that was tried holds the bar: the graph stays float"
    ]
    assert onnx.load(run.outputs["model"] / "model.onnx") == onnx.load(
        tmp_path / "model/model.onnx"
    )


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
