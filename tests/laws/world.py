"""Random plans over a few source files, what they must make, and a way to build them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import Workers
from tests.laws.counted import COUNTER, value
from tests.laws.on_doit import PLAN, doit

SOURCES = ("a", "b", "c")
OUTPUTS = ("o", "p")
CALL = "tests.laws.counted:mix"


@dataclass(frozen=True)
class Node:
    """An action of a random plan: its salt, and the sources or outputs that it takes."""

    salt: str
    takes: tuple[str | tuple[int, str], ...]


@st.composite
def plans(draw: st.DrawFn, most: int = 7) -> tuple[Node, ...]:
    """Plans of up to `most` actions; salts repeat, so that two names can have one key."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, most))):
        source = st.sampled_from(SOURCES)
        made = st.tuples(st.integers(0, number - 1), st.sampled_from(OUTPUTS)) if number else source
        takes = draw(st.lists(source | made, min_size=1, max_size=3, unique=True))
        nodes.append(Node(draw(st.sampled_from("stuv")), tuple(takes)))  # type: ignore[arg-type]
    return tuple(nodes)


contents = st.fixed_dictionaries({name: st.sampled_from("0123") for name in SOURCES})


def nodes_of(text: str) -> tuple[Node, ...]:
    """The plan that `World.write_plan` wrote."""
    return tuple(
        Node(salt, tuple(t if isinstance(t, str) else (t[0], t[1]) for t in takes))
        for salt, takes in json.loads(text)
    )


def plan_of(nodes: tuple[Node, ...]) -> Plan:
    return Plan.of(_action(number, node) for number, node in enumerate(nodes))


def _action(number: int, node: Node) -> Action:
    inputs: dict[str, Input] = {}
    for place, taken in enumerate(node.takes):
        if isinstance(taken, str):
            inputs[f"i{place}"] = SourceFiles(patterns=(f"{taken}.txt",))
        else:
            inputs[f"i{place}"] = OutputOf(action=f"step/{taken[0]}", output=taken[1])
    return Action(
        name=f"step/{number}",
        step="step",
        call=CALL,
        params={"salt": node.salt},
        inputs=inputs,
        outputs=OUTPUTS,
        passes=(COUNTER,),
        group="model",
    )


def from_scratch(nodes: tuple[Node, ...], sources: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What every action must have made, by plain computing."""
    made: list[dict[str, str]] = []
    for node in nodes:
        texts = {
            f"i{place}": sources[t] if isinstance(t, str) else made[t[0]][t[1]]
            for place, t in enumerate(node.takes)
        }
        made.append({out: str(value(node.salt, out, texts)) for out in OUTPUTS})
    return {f"step/{number}": outputs for number, outputs in enumerate(made)}


@dataclass
class World:
    """A repo with its store, in a folder of its own."""

    root: Path
    workers: Workers = field(default_factory=lambda: Workers(path=sys.path))

    def write(self, sources: Mapping[str, str]) -> None:
        for name, text in sources.items():
            path = self.root / f"{name}.txt"
            if not path.exists() or path.read_text() != text:
                path.write_text(text)

    def builder(self, plan: Plan) -> Builder:
        store_folder = self.root / ".qnnbuild"
        store_folder.mkdir(exist_ok=True)
        records = Records(store_folder / "records.db", "here")
        stats = Stats(records)
        store = Store(store_folder, stats)
        store.sweep()
        return Builder(
            plan,
            store=store,
            records=records,
            inputs=Inputs(self.root, stats, records),
            identity=Identity(stats),
            runner=Runner(store, self.workers, {**os.environ, COUNTER: str(self.counter)}),
            folder=BuildFolder(self.root / "build", store),
        )

    @property
    def counter(self) -> Path:
        return self.root / "counter"

    def build(self, nodes: tuple[Node, ...], threads: int = 1) -> list[str]:
        """Build everything with doit; return the salts of what ran, in no order that matters."""
        before = self.ran()
        self.write_plan(nodes)
        code = doit(self, *(["-n", str(threads)] if threads > 1 else []))
        assert code == 0
        return self.ran()[len(before) :]

    def write_plan(self, nodes: tuple[Node, ...]) -> None:
        text = json.dumps([[node.salt, node.takes] for node in nodes])
        path = self.root / PLAN
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    def read_plan(self) -> Plan:
        return plan_of(nodes_of((self.root / PLAN).read_text()))

    def ran(self) -> list[str]:
        return self.counter.read_text().split() if self.counter.exists() else []

    def made(self, nodes: tuple[Node, ...]) -> dict[str, dict[str, str]]:
        """What the store holds for every action; all of them must be current."""
        builder = self.builder(plan_of(nodes))
        found = {}
        for action in builder.plan:
            outputs = builder.record(action.name).outputs
            found[action.name] = {
                name: builder.store.path(tree.files["value"][0]).read_text()
                for name, tree in outputs.items()
            }
        builder.records.close()
        return found
