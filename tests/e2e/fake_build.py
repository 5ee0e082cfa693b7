"""A build for tests of the bridge: real plans and files, and work that only counts itself."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from qnnbuild.actions.action import Action, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Record
from qnnbuild.digest import digest_bytes, digest_json
from qnnbuild.engine.state import Current, Outcome, Stale, State, Waits
from qnnbuild.engine.watcher import Nobody, Watcher
from qnnbuild.errors import BY_EXIT_CODE, Problem, QnnbuildError, RecipeError, Span


class Stopped(QnnbuildError):
    exit_code = 130


class FakeSession:
    """recipes/MODEL.yaml is JSON: name → {needs, reads, does}, or a list, which is a mistake."""

    folders = ("recipes",)
    common = ("qnnbuild.yaml",)
    finished = ("build/index.json",)
    store_folder = None

    @property
    def threads(self) -> int | None:
        """What a file says, where the real settings would."""
        told = self.root / "threads.txt"
        return int(told.read_text()) if told.exists() else None

    def __init__(self, root: Path, recipes: tuple[str, ...] | None) -> None:
        with (root / "opened.txt").open("a") as log:
            log.write(("everything" if recipes is None else " ".join(recipes)) + "\n")
        self.root = root
        self.does: dict[str, str] = {}
        self.recipes: dict[str, str | None] = {}
        self.problems: list[Problem] = []
        self.stopped = False
        self.watcher: Watcher = Nobody()
        self.plan = Plan.of(self._actions(recipes))

    def _actions(self, recipes: tuple[str, ...] | None) -> list[Action]:
        if recipes is None:
            found = sorted((self.root / "recipes").glob("*.yaml"))
            recipes = tuple(path.relative_to(self.root).as_posix() for path in found)
        actions = []
        for recipe in recipes:
            told = json.loads((self.root / recipe).read_text())
            if isinstance(told, list):
                self.recipes[recipe] = None
                place = Span(file=recipe, line=1, column=1, text=json.dumps(told))
                self.problems.append(Problem(message="a list is no recipe", at=place))
                continue
            self.recipes[recipe] = Path(recipe).stem
            actions += [
                self._action(Path(recipe).stem, name, **facts) for name, facts in told.items()
            ]
        return actions

    def _action(
        self, model: str, name: str, needs: Collection[str] = (), reads: str = "", does: str = ""
    ) -> Action:
        self.does[name] = does
        inputs: dict[str, Any] = {n: OutputOf(action=n, output="out") for n in needs}
        if reads:
            inputs["source"] = SourceFiles(patterns=(reads,))
        return Action(
            name=name, step="fake", call="x:y", inputs=inputs, outputs=("out",), group=model,
            about=f"makes {name}",
        )  # fmt: skip

    def _file(self, name: str) -> Path:
        return self.root / "build" / name.replace("/", "-")

    def _record(self, name: str) -> Path:
        return self.root / ".qnnbuild" / "fake" / name.replace("/", "-")

    def _text(self, name: str) -> str:
        """What the action makes: its inputs' contents and the settings, joined."""
        action = self.plan[name]
        settings = self.root / "qnnbuild.yaml"
        parts = [settings.read_text()] if settings.exists() else []
        parts += [self._file(need).read_text() for need in action.needs()]
        for source in action.inputs.values():
            if isinstance(source, SourceFiles):
                path = self.root / source.patterns[0]
                if not path.exists():
                    raise RecipeError(f"no such file: {source.patterns[0]}")
                parts.append(path.read_text())
        return "(" + "+".join(parts) + ")"

    def expect(self, names: Collection[str]) -> None:
        """There is nothing to sum up."""

    def state(self, name: str) -> State:
        waits = [n for n in self.plan[name].needs() if not isinstance(self.state(n), Current)]
        if waits:
            return Waits(on=tuple(waits))
        key = digest_bytes((self.does[name] + self._text(name)).encode())
        if not self._record(name).exists():
            return Stale(reasons=("never built",), key=key)
        if self._record(name).read_text() != key:
            return Stale(reasons=("its source changed",), key=key)
        if not self._file(name).exists() or self._file(name).read_text() != self._text(name):
            return Stale(reasons=("its file is gone or damaged",), key=key)
        return Current(record=self._made(name, key))

    def _made(self, name: str, key: str) -> Record:
        return Record(key=key, name=name, step="fake", parts={}, outputs={}, seconds=60.0)

    def make(self, name: str, *, force: bool = False) -> Outcome:
        if self.stopped:
            raise Stopped(f"{name} was stopped")
        text = self._text(name)
        self._do(name)
        with (self.root / "ran.txt").open("a") as log:
            log.write(f"{name}\n")
        key = digest_bytes((self.does[name] + text).encode())
        same = self._file(name).exists() and self._file(name).read_text() == text
        for path, content in ((self._file(name), text), (self._record(name), key)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        how = "cut off" if same else "made"
        return Outcome(name=name, how=how, record=self._made(name, key), seconds=0.1)  # type: ignore[arg-type]

    def _meet(self, name: str, count: int) -> None:
        """Wait until so many actions are here at once; four seconds are enough for that."""
        (self.root / f"here-{name.replace('/', '-')}").touch()
        end = time.monotonic() + 4
        while len(list(self.root.glob("here-*"))) < count:
            if time.monotonic() > end:
                raise BY_EXIT_CODE[4](f"{name} was alone")
            time.sleep(0.01)

    def _do(self, name: str) -> None:
        self.watcher.runs(name)
        word, _, value = self.does[name].partition(" ")
        if word == "fail":
            place = Span(file="recipes/x.yaml", line=3, column=5, text="  - it", end=7)
            raise BY_EXIT_CODE[int(value)](
                f"{name} went wrong", at=place, facts=[("log", "/the/log")], hint="mend it"
            )
        if word == "warn":
            sys.stderr.write("warning: careful\n")
        if word == "break":
            raise ZeroDivisionError
        if word == "meet":
            self._meet(name, int(value))
        if word == "sleep":
            (self.root / f"asleep-{Path(name).name}").touch()
        end = time.monotonic() + float(value or 0)
        while word == "sleep" and time.monotonic() < end:
            time.sleep(0.02)
            if self.stopped:
                (self.root / f"tidied-{Path(name).name}").touch()
                raise Stopped(f"{name} was stopped")

    def watch(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def seconds(self, names: Collection[str]) -> dict[str, float]:
        """What its file says, for each that has one: a last run took so long."""
        files = {name: self.root / f"took-{name.replace('/', '-')}" for name in names}
        return {name: float(file.read_text()) for name, file in files.items() if file.exists()}

    def log(self, name: str) -> Path | None:
        return self.root / "the.log" if (self.root / "the.log").exists() else None

    def paths(self, name: str) -> tuple[list[Path], list[Path]]:
        sources = [
            self.root / source.patterns[0]
            for source in self.plan[name].inputs.values()
            if isinstance(source, SourceFiles)
        ]
        return sources, [self._file(name), self._record(name)]

    def clean(self, names: Collection[str], *, dry_run: bool) -> list[str]:
        files = [self._file(name) for name in names if self._file(name).exists()]
        for file in files:
            if not dry_run:
                file.unlink()
        return [file.relative_to(self.root).as_posix() for file in files]

    def forget(self, names: Collection[str]) -> None:
        for name in names:
            self._record(name).unlink(missing_ok=True)

    def finish(self) -> None:
        index = self.root / "build" / "index.json"
        index.parent.mkdir(exist_ok=True)
        index.write_text(digest_json(list(self.plan.actions)))

    def cancel(self) -> None:
        self.stopped = True

    def close(self) -> None:
        """There is nothing to close."""
