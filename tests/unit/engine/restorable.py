"""A checkout behind its gate, as a build of real store, records and folder leaves it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qnnbuild.engine import gate
from qnnbuild.engine.gate import Gate, Looked, Restored
from qnnbuild.engine.gate_file import Landed
from tests.unit.engine.fake_world import FakeWorld, action, make_all

MODELS = ("m", "n")
CHIPS = ("A", "B", "C")
ENDS = ("build/index.json", "build/report.html")
TICK_S = 0.06
"""Longer than a time stamp counts as fresh."""

PLAN = [
    one
    for model in MODELS
    for one in (
        action(f"context/{model}", f"{model}.txt", group=model),
        *(
            action(f"bundle/{model}@{c}", f"context/{model}", lands=f"{model}/{c}", group=model)
            for c in CHIPS
        ),
    )
]

BUNDLES = [f"bundle/{model}@{chip}" for model in MODELS for chip in CHIPS]


@dataclass
class Restorable:
    world: FakeWorld

    @property
    def root(self) -> Path:
        return self.world.root

    def build(self) -> None:
        """Make what is to be made and shut the gate: the second build finds all as it was."""
        for _ in range(2):
            time.sleep(TICK_S)
            seen = gate.look(self.root)
            builder = self.world.open(*PLAN)
            make_all(builder)
            builder.finish()
            (self.root / ENDS[1]).write_text("a report")
            looked = [self._looked(builder, model) for model in MODELS]
            keep(self.root, seen, looked, self.root / ".qnnbuild")

    def _looked(self, builder, model: str) -> Looked:
        names = [one.name for one in PLAN if one.group == model]
        files = [path for name in names for part in builder.paths(name) for path in part]
        landed = [
            Landed(name, lands, builder.record(name).key)
            for name in names
            if (lands := builder.plan[name].lands)
        ]
        return Looked(
            name=model, recipe=f"recipes/{model}.yaml", names=names, saved_s=2.5 * len(names),
            files=files, ran=False, landed=landed,
        )  # fmt: skip

    def look(self) -> Gate:
        return gate.look(self.root)

    def files(self) -> dict[str, str]:
        top = self.root / "build"
        return {p.relative_to(top).as_posix(): p.read_text() for p in top.rglob("*") if p.is_file()}


def keep(root: Path, seen: Gate, looked: Sequence[Looked], store: Path) -> None:
    gate.keep(
        seen,
        looked,
        common=["qnnbuild.yaml"],
        folders=["recipes"],
        recipes=[one.recipe for one in looked],
        finished=ENDS,
        store=store,
    )


def restorable(world: FakeWorld) -> Restorable:
    (world.root / "recipes").mkdir()
    for model in MODELS:
        world.write(**{f"{model}_txt": model})
        (world.root / "recipes" / f"{model}.yaml").write_text(model)
    made = Restorable(world)
    made.build()
    return made


def names(restored: list[Restored]) -> list[str]:
    return [one.name for one in restored]


def gone(built: Restorable, *folders: str) -> None:
    for folder in folders or ("",):
        shutil.rmtree(built.root / "build" / folder)
