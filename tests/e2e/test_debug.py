"""qnnbuild debug on the real emulator: the first bad layer of small models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from qnnbuild.work.debug import debug
from qnnbuild.work.npz import write_npz
from tests.e2e.verifying import CHIPS, Samples, normal
from tests.graphs import inferred, model
from tests.models import tiny_conv, two_branch
from tests.working import run_work, written

OVERFLOW = """g (float[1, 64] x) => (float[1, 64] y) {
  [big] b = Mul (x, k) [square] s = Mul (b, b) [small] y = Mul (s, d) }"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An action's current folder is its own."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def layers(
    made: ModelProto,
    samples: Samples,
    folder: Path,
    *,
    prepared: ModelProto | None = None,
    quantized: bool = False,
    names: dict[str, str] | None = None,
    alone: bool = False,
) -> dict[str, Any]:
    inputs = {
        "model": written(made, folder / "model"),
        "prepared": written(prepared or made, folder / "prepared"),
        "names": folder / "names",
        "samples": folder / "samples",
    }
    inputs["names"].mkdir(parents=True)
    (inputs["names"] / "names.json").write_text(json.dumps(names or {}))
    inputs["samples"].mkdir()
    for number, sample in enumerate(samples):
        write_npz(inputs["samples"] / f"{number:06}.npz", sample)
    run_work(
        debug,
        folder / "run",
        params={
            "soc_model": CHIPS["SM8750"].soc_model,
            "options": {},
            "cpu_fallback": False,
            "quantized": quantized,
            "sample": 0,
            "bar_db": 20.0,
            "alone": alone,
        },
        inputs=inputs,
        outputs=("layers",),
    )
    path = folder / "run" / "out" / "layers" / "layers.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_layer_that_overflows_fp16_is_the_first_bad_one(tmp_path: Path) -> None:
    made = model(
        OVERFLOW,
        k=np.full((1, 64), 300, np.float32),
        d=np.full((1, 64), 1e-3, np.float32),
    )
    found = layers(inferred(made), normal({"x": (1, 64)}), tmp_path, names={"square": "net/square"})
    first = found["layers"][found["first_bad"]]

    assert [layer["node"] for layer in found["layers"]] == ["big", "net/square", "small"]
    assert first["node"] == "net/square"
    assert first["remark"].endswith("is beyond the fp16 range of ±65504")
    assert first["lost_db"] > 40
    assert found["layers"][0]["sqnr_db"] > 50


def test_a_good_graph_has_no_bad_layer(tmp_path: Path) -> None:
    found = layers(inferred(tiny_conv()), normal({"x": (1, 3, 16, 16)}), tmp_path)

    assert found["first_bad"] is None
    assert [layer["operator"] for layer in found["layers"]] == [
        "Conv",
        "Relu",
        "Flatten",
        "MatMul",
    ]
    assert found["not_seen"] == []
    assert found["layers"][-1]["is_output"] is True


def test_alone_a_layer_is_fused_as_it_ships(tmp_path: Path) -> None:
    """The compiler takes a coarser Tanh where nobody reads what is before and behind it."""
    made = inferred(two_branch())
    samples = normal({"a": (1, 64), "b": (1, 64)})
    together, alone = (
        {
            layer["node"]: layer["sqnr_db"]
            for layer in layers(made, samples, tmp_path / str(apart), alone=apart)["layers"]
        }
        for apart in (False, True)
    )

    assert together["right/tanh"] > 60
    assert alone["right/tanh"] < 50
    assert alone["right"] == together["right"]


def test_a_quantized_graphs_layers_are_those_of_the_float_graph(tmp_path: Path) -> None:
    """One scale is 50 times too small: the layer behind it is cut off."""
    plain = inferred(
        model(
            "g (float[1, 64] x) => (float[1, 64] y) { [a] h = Abs (x) [r] k = Relu (h)"
            " [m] y = Mul (k, k) }"
        )
    )
    scales = {
        "s": np.asarray(0.03, np.float32),
        "t": np.asarray(0.0006, np.float32),
        "z": np.asarray(128, np.uint8),
        "o": np.asarray(0, np.uint8),
    }
    quantized = inferred(
        model(
            """g (float[1, 64] x) => (float[1, 64] y) {
            qx = QuantizeLinear (x, s, z) dx = DequantizeLinear (qx, s, z)
            [a] h = Abs (dx)
            qh = QuantizeLinear (h, s, o) dh = DequantizeLinear (qh, s, o)
            [r] k = Relu (dh)
            qk = QuantizeLinear (k, t, o) dk = DequantizeLinear (qk, t, o)
            [m] v = Mul (dk, dk)
            qv = QuantizeLinear (v, s, o) y = DequantizeLinear (qv, s, o) }""",
            **scales,  # type: ignore[arg-type]
        )
    )
    found = layers(quantized, normal({"x": (1, 64)}), tmp_path, prepared=plain, quantized=True)

    assert [(layer["node"], layer["tensor"]) for layer in found["layers"]][:2] == [
        ("a", "h"),
        ("r", "k"),
    ]
    assert found["layers"][0]["sqnr_db"] > 30
    assert found["first_bad"] == 1


def test_what_is_written_lies_in_the_actions_own_folder(tmp_path: Path) -> None:
    layers(inferred(tiny_conv()), normal({"x": (1, 3, 16, 16)}), tmp_path)

    assert [path.name for path in Path().iterdir()] == ["answers"]
