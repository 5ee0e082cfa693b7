"""The session of same_graph.py: real store, records and builder; the work takes no time."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from qnnbuild.actions.action import Action, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest
from qnnbuild.engine import store as store_module
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.putting_back import put_back
from qnnbuild.engine.records import Records
from qnnbuild.engine.runner import Made, Stage
from qnnbuild.engine.standing_files import log_of
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.watcher import Watcher
from qnnbuild.text.nodes import ListNode, ScalarNode
from qnnbuild.text.reader import read_mapping

# a sync after each of twenty thousand files would only make the first build slow
store_module.sync = lambda _: None

PAYLOAD = "FAKE_ZOO_PAYLOAD"
"""The variable that says how many bytes each bundle has beside its manifest."""


def actions_of(model: str, chips: Sequence[str]) -> Iterator[Action]:
    """fetch, prepare and two graphs, then for each chip two contexts and a bundle."""

    def action(name: str, *needs: str, **more: object) -> Action:
        inputs = {f"i{n}": OutputOf(action=need, output="o") for n, need in enumerate(needs)}
        inputs |= more.pop("source", {})  # type: ignore[arg-type]
        step = name.partition("/")[0]
        return Action(
            name=name, step=step, call="qnnbuild.work.run:x", inputs=inputs, outputs=("o",),
            params={"name": name}, group=model, about=f"{step} of {model}", **more,  # type: ignore[arg-type]
        )  # fmt: skip

    source = {"source": SourceFiles(patterns=(f"sources/{model}.txt",))}
    yield action(f"fetch/{model}", source=source)
    yield action(f"prepare/{model}", f"fetch/{model}")
    for graph in ("a", "b"):
        yield action(f"convert/{model}/{graph}", f"prepare/{model}")
    for chip in chips:
        for graph in ("a", "b"):
            yield action(f"context/{model}/{graph}@{chip}", f"convert/{model}/{graph}")
        contexts = [f"context/{model}/{graph}@{chip}" for graph in ("a", "b")]
        yield action(f"bundle/{model}@{chip}", *contexts, lands=f"{model}/{chip}")


class WritesOneFile:
    """In the place of the runner: what an action makes is its name and what it takes."""

    turns = Turns()

    def __init__(self, store: Store) -> None:
        self.store = store
        self.cancelled = False

    def ready(self) -> int | None:
        return None

    def reaches(self, _: Tree) -> bool:
        return False

    def cancel(self) -> None:
        self.cancelled = True

    def close(self) -> None: ...

    def run(self, action: Action, _: Digest, stages: Mapping[str, Stage]) -> Made:
        with self.store.private() as folder:
            texts = []
            for name, stage in stages.items():
                (folder / name).mkdir()
                stage(folder / name)
                texts += [path.read_text() for path in (folder / name).rglob("*") if path.is_file()]
            lines = "".join(texts).splitlines()
            if action.step == "prepare":
                lines = [line for line in lines if not line.isdigit()]  # what an edit changes
            text = "\n".join(lines)
            (folder / "made").write_text(_made(action, text))
            files = {"manifest.json" if action.lands else "made": self.store.add(folder / "made")}
            size = int(os.environ.get(PAYLOAD, "0"))
            if action.lands and size:
                # no two alike, and nothing that a file system could make smaller
                (folder / "binary").write_bytes(random.Random(action.name).randbytes(size))
                files["model.bin"] = self.store.add(folder / "binary")
        tree = Tree(files=files)
        return Made(outputs={"o": tree}, warnings=(), seconds=1.0, peak_bytes=0)


class Zoo(Builder):
    folders = ("recipes",)
    common = ("qnnbuild.yaml", "chips.yaml")
    finished = ("build/index.json",)
    threads = None
    problems = ()

    def __init__(self, root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]) -> None:
        found = recipes
        if found is None:
            found = tuple(f"recipes/{p.name}" for p in sorted((root / "recipes").iterdir()))
        self.recipes = {recipe: Path(recipe).stem for recipe in found}
        (root / ".qnnbuild").mkdir(exist_ok=True)
        records = Records(root / ".qnnbuild" / "records.db", str(root))
        stats = Stats(records)
        store = Store(root / ".qnnbuild", stats)
        super().__init__(
            Plan.of(
                a for recipe in found for a in actions_of(Path(recipe).stem, _chips(root, recipe))
            ),
            store=store,
            records=records,
            inputs=Inputs(root, stats, records),
            identity=Identity(stats),
            runner=WritesOneFile(store),  # type: ignore[arg-type]
            folder=BuildFolder(root / "build", store),
            unseen=unseen,
        )
        self.seconds = self.records.seconds
        self.store_folder = store.root

    def expect(self, names: Collection[str]) -> None:
        self.room.expect(names)
        self.putting_back = put_back(self, names)

    def watch(self, watcher: Watcher) -> None:
        self.runner.turns.watcher = watcher

    def log(self, name: str) -> Path | None:
        return log_of(self, name)

    def clean(self, names: Collection[str], *, dry_run: bool) -> list[str]:
        lands = [action.lands for action in map(self.plan.__getitem__, names) if action.lands]
        return [path for one in lands for path in self.folder.clean(one, dry_run=dry_run)]

    def close(self) -> None:
        self.records.close()


def _made(action: Action, text: str) -> str:
    if action.lands is None:
        return f"{action.name}\n{text}"
    model, chip = action.lands.split("/")
    manifest = {
        "model": model, "variants": [{"name": ""}], "chips": [{"name": chip}],
        "toolchain": {"name": "ort"}, "license": {"spdx": "MIT", "redistribute": True},
        "graphs": {}, "files": {}, "of": text,
    }  # fmt: skip
    return json.dumps(manifest)


def _chips(root: Path, recipe: str) -> list[str]:
    tree, problems = read_mapping(recipe, (root / recipe).read_bytes(), "recipe")
    assert tree is not None, problems
    chips = tree.get("chips")
    assert isinstance(chips, ListNode)
    return [item.value for item in chips.items if isinstance(item, ScalarNode)]
