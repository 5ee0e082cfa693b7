"""A repo whose plan is made of counted actions, with all else as users have it: session, doit."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from qnnbuild.actions.action import Action, OutputOf, Provenance
from qnnbuild.actions.plan import Plan
from qnnbuild.bridge.loader import Loader
from qnnbuild.engine.gate import look
from qnnbuild.engine.workers import Workers
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.settings import Settings
from qnnbuild.session import Live, Session
from tests.laws.counted import COUNTER
from tests.laws.processes import Forks, Going
from tests.laws.world import Node, nodes_of, plan_of

NODES = (
    Node("s", ("a", "b")),
    Node("t", ((0, "o"), "c")),
    Node("s", ("a", "b")),  # the same work under another name
    Node("u", ((1, "p"), (2, "o"))),
)
WORKS = 4
"""How many different works that is, with the bundle."""

SOURCES = {"a": "1", "b": "2", "c": "3"}
PLAN = "recipes/model.yaml"
"""The one recipe: what the plan is. It lies where the gate looks for recipes."""

LANDS = "model/SM8750"
ENDED_BADLY = 70
"""doit's code for what it did not expect is 3, which is also ours: a traceback gets its own."""


def shipped(nodes: tuple[Node, ...]) -> Plan:
    """The plan of `nodes`, with a bundle of what they make."""
    made = plan_of(nodes)
    inputs = {f"i{n}": OutputOf(action=name, output="o") for n, name in enumerate(made.actions)}
    bundle = Action(
        name="bundle/model",
        step="bundle",
        call="tests.laws.counted:bundle",
        params={
            "salt": "bundle",
            "model": "model",
            "variants": [{"name": ""}],
            "chips": [{"name": "SM8750"}],
        },
        inputs={**inputs, "provenance": Provenance()},
        outputs=("bundle",),
        passes=(COUNTER,),
        group="model",
        lands=LANDS,
    )
    return Plan.of([*made, bundle])


class Lasting(Workers):
    """One server for the builds of many tests."""

    def close(self) -> None:
        """At the end of a build: it is the next one's."""

    def end(self) -> None:
        super().close()


def live(root: Path, workers: Workers | None) -> Live:
    """What `open_live` would open, had the repo recipes for such actions."""
    plan = shipped(nodes_of((root / PLAN).read_text()))
    session = Session(
        root=root,
        settings=Settings(),
        chips=packaged_chips(),
        toolchains={},
        targets=(),
        recipes={PLAN: "model"},
        problems=(),
        plan=plan,
    )
    opened = Live(session)
    opened.builder.runner.workers = workers or Workers(path=sys.path)
    return opened


class LiveLoader(Loader):
    workers: ClassVar[Workers | None] = None

    def open_session(
        self, root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]
    ) -> Live:
        return live(root, self.workers)


def doit(root: Path, *words: str) -> int:
    """Run doit in this process, as users do in theirs."""
    from doit.doit_cmd import DoitMain

    config = {
        **import_module("qnnbuild.bridge.dodo").PLUGINS,
        "GLOBAL": {"loader": "laws"},
        "LOADER": {"laws": "tests.laws.repo:LiveLoader"},
    }
    before = Path.cwd()
    os.chdir(root)
    os.environ[COUNTER] = str(root / "counter")
    try:
        return int(DoitMain(extra_config=config).run(list(words)))
    finally:
        os.chdir(before)


@dataclass(frozen=True)
class Done:
    """How a build ended, what it said and which works ran."""

    code: int
    said: str
    ran: tuple[str, ...]


@dataclass(frozen=True)
class LawRepo:
    root: Path
    workers: Workers
    forks: Forks

    @classmethod
    def make(
        cls, root: Path, workers: Workers, forks: Forks, nodes: tuple[Node, ...] = NODES
    ) -> LawRepo:
        (root / "recipes").mkdir(parents=True)
        for name, text in SOURCES.items():
            (root / f"{name}.txt").write_text(text)
        (root / PLAN).write_text(json.dumps([[node.salt, node.takes] for node in nodes]))
        return cls(root, workers, forks)

    @property
    def store(self) -> Path:
        return self.root / ".qnnbuild"

    def build(self, *words: str) -> Done:
        """By doit in this process. No build may end with a traceback, whatever has happened."""
        before, told, said = self.ran(), self.root / "told.txt", io.StringIO()
        LiveLoader.workers = self.workers
        told.write_text("")  # doit makes it when the first task is asked for
        with redirect_stderr(said):
            try:
                code = doit(self.root, "-o", str(told), *words)
            except Exception:  # noqa: BLE001 - the assertion below tells it
                traceback.print_exc(file=said)
                code = ENDED_BADLY
        all_said = told.read_text() + said.getvalue()
        assert "Traceback" not in all_said, all_said
        return Done(code, all_said, tuple(self.ran()[len(before) :]))

    def in_a_process(self, *words: str, deadly: int = 0) -> Done:
        """By doit in a process of its own, which kills itself at change `deadly` of the disk."""
        before = self.ran()
        code, said = self.begun(*words, deadly=deadly).wait()
        return Done(code, said, tuple(self.ran()[len(before) :]))

    def begun(self, *words: str, deadly: int = 0) -> Going:
        # beside the repo, which may be a disk that is full or cannot be written
        return self.forks.build(self.root, self.root.with_name("said.txt"), *words, deadly=deadly)

    def settle(self) -> None:
        """Build until the gate is shut: files have to be older than a tick of the clock."""
        end = time.monotonic() + 60
        while not look(self.root).is_shut:
            assert time.monotonic() < end, "the gate does not shut"
            self.build()

    def ran(self) -> list[str]:
        counter = self.root / "counter"
        return counter.read_text().split() if counter.exists() else []

    def shipped(self) -> dict[str, bytes]:
        """All of build/ but the report, which tells how long things took."""
        top = self.root / "build"
        return {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file() and path.name != "report.html"
        }

    def stored(self) -> list[Path]:
        """Every file of the store, gate and leases among them."""
        return sorted(path for path in self.store.rglob("*") if path.is_file())

    def recorded(self) -> set[str]:
        """The works whose records were committed, asked of a copy: to ask changes nothing."""
        with tempfile.TemporaryDirectory() as folder:
            for path in self.store.glob("records.db*"):
                if not path.name.endswith("-shm"):
                    shutil.copy(path, folder)
            db = sqlite3.connect(Path(folder, "records.db"))
            try:
                rows = db.execute("select record from records").fetchall()
            except sqlite3.OperationalError:  # killed before there were tables
                rows = []
            finally:
                db.close()
        return {json.loads(text)["parts"]["params"]["salt"] for (text,) in rows}
