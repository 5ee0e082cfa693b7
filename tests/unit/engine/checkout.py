"""A checkout of two models, whose builds look at what the gate tells and at nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from qnnbuild.engine import gate, glance
from qnnbuild.engine.gate import Gate, Looked

TICK_S = 0.06
"""Longer than a time stamp counts as fresh."""


class Checkout:
    """Two models; a build of it looks at what the gate tells and at nothing else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ran: set[str] = set()
        for model in ("a", "b"):
            self.write(f"recipes/{model}.yaml", model)
            self.write(f"{model}.onnx", model)
            self.write(f"build/{model}.bin", model)
        self.write("qnnbuild.yaml", "")
        self.write("build/index.json", "")
        self.write("build/report.html", "")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def look(self) -> Gate:
        """One glance tells a build of nothing, whatever the case."""
        seen = glance.glance(self.root)
        found = gate.look(self.root, seen)
        assert seen.is_shut == found.is_shut
        return found

    def recipes(self) -> list[str]:
        return sorted(p.relative_to(self.root).as_posix() for p in self.root.glob("recipes/*.yaml"))

    def keep(self, seen: Gate) -> None:
        opened = self.recipes() if seen.recipes is None else seen.recipes
        looked = [
            Looked(
                name=Path(recipe).stem,
                recipe=recipe,
                names=[f"x/{Path(recipe).stem}", f"y/{Path(recipe).stem}"],
                saved_s=5.0,
                files=[f"{Path(recipe).stem}.onnx", self.root / f"build/{Path(recipe).stem}.bin"],
                ran=Path(recipe).stem in self.ran,
            )
            for recipe in opened
            if "notes" not in recipe
        ]
        gate.keep(
            seen,
            looked,
            common=["qnnbuild.yaml", "chips.yaml"],
            folders=["recipes"],
            recipes=[group.recipe for group in looked],
            finished=["build/index.json", "build/report.html"],
        )

    def build(self, *ran: str) -> Gate:
        self.ran = set(ran)
        time.sleep(TICK_S)
        seen = self.look()
        self.keep(seen)
        return seen

    def shut(self) -> None:
        """Two builds: one learns the files, one sees that they stay as they are."""
        self.build()
        self.build()


def checkout_in(root: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.delenv("QNNBUILD_STORE", raising=False)
    monkeypatch.setattr(gate, "own_files", lambda: iter(()))  # others may edit the package now
    return Checkout(root)
