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
from qnnbuild.work.search_emulated import emulated
from qnnbuild.work.search_judged import judge, promising
from qnnbuild.work.search_taken import taken
from qnnbuild.work.sensitivity import sensitivity
from tests.graphs import model
from tests.quantizing import params, write_feeds
from tests.working import run_work, written

OUTPUTS = ("model", "quantization", "numbers")


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
        write_feeds(graph, folder / "samples", count=6)
        self.bars: dict[str, Any] = {"min_sqnr_db": bar_db}
        self.excused: list[str] = []
        self.emulator: Mapping[str, Any] | None = None
        self.tries: list[Path] = []  # with an output of search, of judge and of emulate each

    def attempt(
        self, word: str, wanted: Quantization | None, *, lifts: int = 0, listed: Path | None = None
    ) -> Run:
        """The try, and what judges it; the float graph is not judged."""
        inputs = {name: self.folder / name for name in ("model", "names", "feeds", "samples")}
        if self.tries:
            inputs["decision"] = self.tries[-1] / "judge/out/decision"
        if listed is not None:
            inputs["sensitivity"] = listed
        said: Mapping[str, Any] = {
            "word": word,
            "lifts": lifts,
            "quantization": None if wanted is None else params(wanted),
        }
        folder = self.folder / f"{len(self.tries)}-{word}-{lifts}"
        run = run_work(attempt, folder / "search", params=said, inputs=inputs, outputs=OUTPUTS)
        if wanted is not None:
            self._judge(folder)
        self.tries.append(folder)
        return run

    def _judge(self, folder: Path) -> None:
        bars, inputs = {"bars": self.bars}, {"numbers": folder / "search/out/numbers"}
        if self.tries:
            inputs["before"] = self.tries[-1] / "judge/out/decision"
        if self.emulator is not None:
            run_work(
                promising,
                folder / "promising",
                params=bars,
                inputs={"numbers": inputs["numbers"]},
                outputs=("decision",),
            )
            run_work(
                emulated,
                folder / "emulate",
                params=self.emulator,
                inputs={
                    "model": self.folder / "model",
                    "samples": self.folder / "samples",
                    "attempt": folder / "search/out/model",
                    "decision": folder / "promising/out/decision",
                },
                outputs=("numbers",),
            )
            inputs["emulated"] = folder / "emulate/out/numbers"
        run_work(
            judge, folder / "judge", params=bars, inputs=inputs, outputs=("verdict", "decision")
        )

    def sensitivity(self) -> Path:
        """Of the last try."""
        inputs = {"model": self.tries[-1] / "search/out/model"}
        inputs["decision"] = self.tries[-1] / "judge/out/decision"
        inputs |= {name: self.folder / name for name in ("names", "feeds")}
        folder = self.folder / "sensitivity"
        said = {"excused": self.excused}
        run_work(sensitivity, folder, params=said, inputs=inputs, outputs=("sensitivity",))
        return folder / "out/sensitivity"

    def verdict(self) -> dict[str, Any]:
        """On the last try."""
        text = (self.tries[-1] / "judge/out/verdict/verdict.json").read_text()
        found: dict[str, Any] = json.loads(text)
        return found

    def taken(self) -> Run:
        """What convert takes; the last try must be the float graph."""
        inputs = {}
        for number, folder in enumerate(self.tries):
            for name in ("model", "quantization"):
                inputs[f"{name}-{number:02}"] = folder / "search/out" / name
            if (folder / "judge").exists():
                inputs[f"verdict-{number:02}"] = folder / "judge/out/verdict"
        inputs[f"numbers-{number:02}"] = self.tries[-1] / "search/out/numbers"
        outputs = ("model", "quantization")
        return run_work(taken, self.folder / "taken", params={}, inputs=inputs, outputs=outputs)
