"""The tries of `precision: auto` as the engine runs them, one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from qnnbuild.model.recipe import Quantization
from qnnbuild.work.run import Run
from qnnbuild.work.search import attempt
from qnnbuild.work.sensitivity import sensitivity
from tests.graphs import model
from tests.quantizing import params, write_feeds
from tests.working import run_work, written

OUTPUTS = ("model", "quantization", "verdict")


def with_outlier() -> onnx.ModelProto:
    """Eight layers; one value of the first Add is 300, nothing reads it, all others are near 1."""
    random = np.random.default_rng(5)
    square = [0.5 * random.standard_normal((8, 8)).astype(np.float32) for _ in range(4)]
    square[1][7] = 0
    far = np.zeros((1, 8), np.float32)
    far[0, 7] = 300
    return model(
        """
        outlier (float[1, 8] x) => (float[1, 8] y) {
           m1 = MatMul(x, w0)
           a = Add(m1, far)
           m2 = MatMul(a, w1)
           t2 = Tanh(m2)
           m3 = MatMul(t2, w2)
           t3 = Tanh(m3)
           m4 = MatMul(t3, w3)
           y = Tanh(m4)
        }""",
        w0=square[0],
        w1=square[1],
        w2=square[2],
        w3=square[3],
        far=far,
    )


class Search:
    """Its folder has the inputs that all tries share; each try's outputs are beside them."""

    def __init__(self, folder: Path, graph: onnx.ModelProto, bar_db: float) -> None:
        self.folder = folder
        for node in graph.graph.node:
            node.name = node.name or f"{node.op_type}_{node.output[0]}"
        written(graph, folder / "model")
        (folder / "names").mkdir()
        (folder / "names/names.json").write_text("{}")
        write_feeds(graph, folder / "feeds", count=6)
        self.bars = {"min_sqnr_db": bar_db}
        self.emulator: Mapping[str, Any] | None = None
        self.last: Path | None = None

    def attempt(
        self, word: str, wanted: Quantization | None, *, lifts: int = 0, listed: Path | None = None
    ) -> Run:
        inputs = {name: self.folder / name for name in ("model", "names", "feeds")}
        if self.last is not None:
            inputs |= {f"before-{name}": self.last / name for name in OUTPUTS}
        if listed is not None:
            inputs["sensitivity"] = listed
        said: Mapping[str, Any] = {
            "word": word,
            "lifts": lifts,
            "bars": self.bars,
            "emulator": self.emulator,
            "quantization": None if wanted is None else params(wanted),
        }
        folder = self.folder / f"{word}-{lifts}"
        run = run_work(attempt, folder, params=said, inputs=inputs, outputs=OUTPUTS)
        self.last = folder / "out"
        return run

    def sensitivity(self) -> Path:
        assert self.last is not None
        inputs = {name: self.last / name for name in ("model", "verdict")}
        inputs |= {name: self.folder / name for name in ("names", "feeds")}
        folder = self.folder / "sensitivity"
        run_work(sensitivity, folder, params={}, inputs=inputs, outputs=("sensitivity",))
        return folder / "out/sensitivity"

    def said(self) -> dict[str, Any]:
        """What the last try's quantization.json says of the search."""
        assert self.last is not None
        text = (self.last / "quantization/quantization.json").read_text()
        found: dict[str, Any] = json.loads(text)["search"]
        return found
