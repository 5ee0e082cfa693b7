"""A builder over a real store in a temporary folder, whose work is a function in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.runner import Made, Runner, Stage
from qnnbuild.engine.state import Current, Outcome, Stale, State
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import Workers


def action(name: str, *takes: str, lands: str | None = None, **more: object) -> Action:
    """`takes` are names of actions, or files of the repo (with a dot in their name)."""
    inputs: dict[str, Input] = {
        f"i{n}": SourceFiles(patterns=(t,)) if "." in t else OutputOf(action=t, output="o")
        for n, t in enumerate(takes)
    }
    values = {"inputs": inputs, "outputs": ("o",), "params": {"salt": name}, "group": "m", **more}
    step = name.partition("/")[0]
    return Action(name=name, step=step, call="fake:work", lands=lands, **values)  # type: ignore[arg-type]


FETCH = action("fetch/m", "a.txt")
CONVERT = action("convert/m", "fetch/m")
CONTEXT = action("context/m", "convert/m", "b.txt")
BUNDLE = action("bundle/m", "context/m", lands="m/SM8750")
CHAIN = (FETCH, CONVERT, CONTEXT, BUNDLE)


class FakeRunner(Runner):
    """Output `o` is one file: the salt and all input texts; `does` may do something meanwhile."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Workers(), {})
        self.ran: list[str] = []
        self.does: dict[str, Callable[[], None]] = {}
        self.makes: dict[str, Callable[[str], str]] = {}

    def run(self, action: Action, key: Digest, stages: Mapping[str, Stage]) -> Made:
        with self.store.private() as folder:
            texts = []
            for name, stage in stages.items():
                (folder / name).mkdir()
                stage(folder / name)
                texts += [p.read_text() for p in sorted((folder / name).rglob("*")) if p.is_file()]
            self.ran.append(action.name)
            if action.name in self.does:
                self.does[action.name]()
            text = f"{action.params['salt']}({'+'.join(texts)})"
            if action.name in self.makes:
                text = self.makes[action.name](text)
            outputs = {}
            for name in action.outputs:
                (folder / "made").write_text(text)
                outputs[name] = Tree(files={f"{name}.txt": self.store.add(folder / "made")})
        return Made(outputs=outputs, warnings=("mind this",), seconds=2.5, peak_bytes=7)


class FakeIdentity(Identity):
    """Tools are what a test says that they are."""

    def __init__(self) -> None:
        super().__init__(Stats())
        self.tool = {"code:fake": "1"}

    def of(self, action: Action) -> Mapping[str, str]:
        return dict(self.tool)


Remote = Callable[[Store, Records], RemoteStore]


@dataclass
class FakeWorld:
    root: Path
    opened: list[Builder] = field(default_factory=list)

    def write(self, **texts: str) -> None:
        """Files of the repo; `_` stands for the dot of a name."""
        for name, text in texts.items():
            (self.root / name.replace("_", ".")).write_text(text)

    def open(
        self, *actions: Action, unseen: Iterable[str] = (), remote: Remote | None = None
    ) -> Builder:
        """A builder as a new run of the program has it."""
        folder = self.root / ".qnnbuild"
        folder.mkdir(exist_ok=True)
        records = Records(folder / "records.db", "here")
        stats = Stats(records)
        store = Store(folder, stats)
        builder = Builder(
            Plan.of(actions),
            store=store,
            records=records,
            inputs=Inputs(self.root, stats, records),
            identity=FakeIdentity(),
            runner=FakeRunner(store),
            folder=BuildFolder(self.root / "build", store),
            unseen=frozenset(unseen),
            remote=remote(store, records) if remote else None,
        )
        self.opened.append(builder)
        return builder

    def close(self) -> None:
        for builder in self.opened:
            builder.remote.close()
            builder.records.close()


def runner_of(builder: Builder) -> FakeRunner:
    assert isinstance(builder.runner, FakeRunner)
    return builder.runner


def ran(builder: Builder) -> list[str]:
    return runner_of(builder).ran


def make_all(builder: Builder) -> dict[str, str]:
    """Make what is not current, in order: name → how."""
    hows: dict[str, str] = {}
    for one in builder.plan:
        if not isinstance(builder.state(one.name), Current):
            hows[one.name] = builder.make(one.name).how
    return hows


def text_of(builder: Builder, made: Outcome | str) -> str:
    """What an action's output says."""
    record = builder.record(made) if isinstance(made, str) else made.record
    ((digest, _),) = record.outputs["o"].files.values()
    return builder.store.path(digest).read_text()


def reasons(state: State) -> tuple[str, ...]:
    assert isinstance(state, Stale)
    return state.reasons


def artifact(builder: Builder, name: str) -> Path:
    """The file in the store that an action made."""
    ((digest, _),) = builder.record(name).outputs["o"].files.values()
    return builder.store.path(digest)
