"""What a plan costs in time and memory as it grows: `qnnbuild plan` on recipes of real models.

    python bench/growth.py [--sizes 1000 10000 100000]

Nothing was built before, so each action is looked at in full: recipes are read and checked, the
plan is made, keys are computed as far as they can be, and each action's line is printed.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
from cold import network
from measuring import BIN, MB, REPO, Row, environment, run, tell

PART = "growth"
LARGE = 100_000
LIMIT_S, LIMIT_MB = 20.0, 2000.0
STARTER = REPO / "qnnbuild" / "starter"
RECIPE = """\
model: {name}
license: MIT
source: {{file: "../onnx/{graph}.onnx"}}
chips: [fp16]
graphs:
  encoder: {{precision: fp16}}
  decoder: {{precision: fp16}}
"""


def rows(top: Path, sizes: Sequence[int]) -> Iterator[Row]:
    repo = _repo(top / "repo")
    _add(repo, range(1))
    per_model = _planned(repo)
    for size in sizes:
        _add(repo, range(1, max(1, round(size / per_model))))
        count = _planned(repo)
        took = run([str(BIN / "qnnbuild"), "plan"], repo, environment())
        large = count >= LARGE * 0.95
        yield Row(PART, "plan, time", count, took.seconds, limit=LIMIT_S if large else None)
        yield Row(PART, "plan, memory", count, took.peak_mb, MB, limit=LIMIT_MB if large else None)


def _repo(top: Path) -> Path:
    for folder in ("onnx", "recipes"):
        (top / folder).mkdir(parents=True)
    for name in ("doit.cfg", "dodo.py"):
        shutil.copy(STARTER / name, top / name)
    for seed, graph in enumerate(("encoder", "decoder")):
        onnx.save(network(16, 4, seed), str(top / "onnx" / f"{graph}.onnx"))
    return top


def _add(repo: Path, numbers: range) -> None:
    for number in numbers:
        text = RECIPE.format(name=f"m{number:04}", graph="{graph}")
        (repo / "recipes" / f"m{number:04}.yaml").write_text(text)


def _planned(repo: Path) -> int:
    """How many actions there are."""
    return len(run([str(BIN / "qnnbuild"), "plan"], repo, environment()).said.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000, LARGE])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="growth-") as top:
        for row in rows(Path(top).resolve(), asked.sizes):
            tell(row)


if __name__ == "__main__":
    main()
