"""A small model through prepare, context, reference, verify and verdict, on the real emulator."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import ContextOptions, FileSource, Graph
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.work.context_ort import context
from qnnbuild.work.npz import write_npz
from qnnbuild.work.prepare import prepare
from qnnbuild.work.reference import reference
from qnnbuild.work.run import Run
from qnnbuild.work.verdict import verdict
from qnnbuild.work.verify_ort import verify
from tests.working import PREPARE, run_work, written

CHIPS = packaged_chips()
PREPARED = ("model", "baseline", "names", "report")
Samples = list[dict[str, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Built:
    """Each step's outputs are folders below its own name."""

    folder: Path
    graph: Graph
    chip: str

    def out(self, step: str, name: str) -> Path:
        return self.folder / step / "out" / name

    @property
    def ctx(self) -> Path:
        return self.out("context", "context") / f"{self.graph.name}_ctx.onnx"

    @property
    def binary(self) -> Path:
        return self.out("context", "context") / f"{self.graph.name}_ctx_qnn.bin"

    @property
    def numbers(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            (self.out("verify", "numbers") / "numbers.json").read_text(encoding="utf-8")
        )
        return found


def in_own_folder(
    entry: Callable[[Run], None],
    folder: Path,
    *,
    params: Mapping[str, Any],
    inputs: Mapping[str, Path],
    outputs: tuple[str, ...],
) -> Run:
    """run_work, with a current folder of the run's own as an action has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        return run_work(entry, folder, params=params, inputs=inputs, outputs=outputs)


def built(
    model: ModelProto,
    samples: Samples,
    folder: Path,
    *,
    chip: str = "SM8750",
    inputs: Mapping[str, Any] | None = None,
    embed: bool = False,
    **graph: Any,
) -> Built:
    """All that verify needs; `inputs` are prepare's, `graph` fields of the recipe's graph."""
    made = Built(
        folder=folder,
        graph=Graph(name="net", source=FileSource(file="net.onnx"), **graph),
        chip=chip,
    )
    params = {
        **PREPARE,
        "inputs": inputs or {},
        "repairs": list(made.graph.repairs),
        "cpu_fallback": made.graph.cpu_fallback,
    }
    in_own_folder(
        prepare,
        folder / "prepare",
        params=params,
        inputs={"model": written(model, folder / "source")},
        outputs=PREPARED,
    )
    work = OrtQnn().context(made.graph, CHIPS[chip], ContextOptions(embed=embed))
    in_own_folder(
        context,
        folder / "context",
        params=work.params,
        inputs={name: made.out("prepare", name) for name in ("model", "names")},
        outputs=work.outputs,
    )
    (folder / "samples").mkdir()
    for number, sample in enumerate(samples):
        write_npz(folder / "samples" / f"{number:06}.npz", sample)
    in_own_folder(
        reference,
        folder / "reference",
        params={},
        inputs={"baseline": made.out("prepare", "baseline"), "samples": folder / "samples"},
        outputs=("reference",),
    )
    return made


def verified(made: Built, into: str = "verify", **params: Any) -> Run:
    """Raises the WorkError that the action would give."""
    work = OrtQnn().verify(made.graph, CHIPS[made.chip], made.graph.name)
    return in_own_folder(
        verify,
        made.folder / into,
        params={**work.params, **params},
        inputs={
            "context": made.out("context", "context"),
            "facts": made.out("context", "facts"),
            "samples": made.folder / "samples",
            "reference": made.out("reference", "reference"),
        },
        outputs=work.outputs,
    )


def judged(made: Built, bars: Mapping[str, float], into: str = "verdict") -> dict[str, Any]:
    in_own_folder(
        verdict,
        made.folder / into,
        params={
            "graph": "net",
            "chip": made.chip,
            "debug": f"verify/m/net@{made.chip}",
            "bars": bars,
            "metrics": {},
        },
        inputs={"numbers": made.out("verify", "numbers")},
        outputs=("verdict",),
    )
    path = made.folder / into / "out" / "verdict" / "verdict.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def by_hand(ctx: Path, samples: Path, references: Path) -> dict[str, list[float]]:
    """What a plain script finds, which knows nothing of qnnbuild; for the chip SM8750."""
    script = Path(__file__).with_name("by_hand.py")
    argv = [sys.executable, str(script), str(ctx), str(CHIPS["SM8750"].soc_model)]
    argv += [str(samples), str(references)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300)
    told: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return told


def numbers_of(numbers: Mapping[str, Any]) -> dict[str, list[float]]:
    """The same of numbers.json: SQNR, max abs error and top-1 agreement of each output."""
    told = {name: output["all"] for name, output in numbers["outputs"].items()}
    return {n: [one["sqnr_db"], one["max_abs"], one["top"]["1"]] for n, one in told.items()}


def normal(shapes: Mapping[str, tuple[int, ...]], count: int = 2) -> Samples:
    """Seeded samples of float32."""
    random = np.random.default_rng(5)
    return [
        {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(count)
    ]
