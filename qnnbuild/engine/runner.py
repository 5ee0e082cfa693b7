"""Runs one action: a private folder with real copies of its inputs, a child, outputs kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from qnnbuild.actions.action import Action, SourceOnnx
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import Digest, Json
from qnnbuild.engine.as_given import LARGE, AsGiven
from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.store import Store
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.workers import Ended, Going, Lost, NotStarted, Workers
from qnnbuild.errors import BY_EXIT_CODE, QnnbuildError, Span, StoreError, ToolError

if TYPE_CHECKING:
    from qnnbuild.engine.admission import Turn

LAST_LINES = 12
"""How many lines of the log an error shows; the log itself is kept whole."""

FULL_BYTES = 1 << 20
"""Less room than this is none: whoever fills a disk leaves a little."""

BY_HAND = "by hand"
"""The fact of an error that is lines for a shell; {action} stands in it for the action's name."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class Made:
    outputs: Mapping[str, Tree]
    warnings: tuple[str, ...]
    seconds: float
    peak_bytes: int
    worker: str = ""  # of a cluster, by the name that Dask knows it by

    def record(self, action: Action, key: Digest, parts: Mapping[str, Json]) -> Record:
        return Record(
            key=key,
            name=action.name,
            step=action.step,
            parts=parts,
            outputs=self.outputs,
            warnings=self.warnings,
            seconds=self.seconds,
            peak_bytes=self.peak_bytes,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One input: which files it has, and what fills its folder with them."""

    tree: Tree
    fill: Callable[[Path], None]

    def __call__(self, folder: Path) -> None:
        self.fill(folder)


class Executor(Protocol):
    """What runs actions: this machine, or others. All of it is safe between threads."""

    cancelled: bool

    def run(self, action: Action, key: Digest, stages: Mapping[str, Stage]) -> Made:
        """Raises what the action's own code says went wrong, or ToolError with the log's end."""
        ...

    def ready(self) -> int | None:
        """Have what running needs; how many actions run at once, where it is not ours to say."""
        ...

    def reaches(self, tree: Tree, /) -> bool:
        """Whether inputs need not be brought into the store of this machine first."""
        ...

    def cancel(self) -> None:
        """End everything that runs, for good. Callable from a signal handler."""
        ...

    def close(self) -> None:
        """Give back what it holds; a later run takes it again."""
        ...


class Runner:
    """The executor that is this machine."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        outside: Mapping[str, str],
        turns: Turns | None = None,
    ) -> None:
        self.store = store
        self.workers = workers
        self.turns = turns or Turns(server=lambda: workers.pid)
        self.outside = outside  # the build's own environment, for what an action lets through
        self.cancelled = False
        self._going: set[Going] = set()

    def run(self, action: Action, key: Digest, stages: Mapping[str, Stage]) -> Made:
        """Raises what the action's own code says went wrong, or ToolError with the log's end.

        Waits until there is memory for it.
        """
        input_bytes = sum(stage.tree.size for stage in stages.values())
        tried = partial(self._tried, action, key, stages)
        return self.turns.run(action, input_bytes, tried, partial(self._may_start, action))

    def _tried(self, action: Action, key: Digest, stages: Mapping[str, Stage], turn: Turn) -> Made:
        try:
            return self._once(action, key, stages, turn)
        except NotStarted:
            raise
        except Lost:  # what ended the server may be another action's doing
            return self._once(action, key, stages, turn)

    def ready(self) -> int | None:
        return None

    def reaches(self, _: Tree) -> bool:
        return False

    def cancel(self) -> None:
        self.cancelled = True
        self.workers.cancel()

    def stop(self) -> None:
        """End what this runner runs, for good; others that have the same workers go on."""
        self.cancelled = True
        for going in tuple(self._going):
            going.stop()

    def close(self) -> None:
        self.workers.close()

    def _once(self, action: Action, key: Digest, stages: Mapping[str, Stage], turn: Turn) -> Made:
        log = self.store.log(key)
        log.parent.mkdir(exist_ok=True)
        log.write_text("")
        began = time.monotonic()
        with self.store.private() as folder:
            given = self._fill(folder, action, stages)
            ended = self._start(action, folder, log, turn.going)
            said = _said(folder)
            self._stop_here(action)
            try:
                self._judge(action, ended, said, log)
            except QnnbuildError as error:
                raise self.turns.what_it_was(error, turn, ended) from error
            outputs = self._kept(action, folder, log, given)
        return Made(
            outputs=outputs,
            warnings=tuple(_at(action, place, text) for text, place in said.get("warnings", ())),
            seconds=round(time.monotonic() - began, 3),
            peak_bytes=max(ended.peak_bytes, said.get("peak_bytes", 0)),
        )

    def _fill(self, folder: Path, action: Action, stages: Mapping[str, Stage]) -> AsGiven:
        """What the action begins with, and what of it is known again when it comes out."""
        given = AsGiven()
        for name in ("in", "out", "tmp", "home"):
            (folder / name).mkdir()
        for name, stage in stages.items():
            (folder / "in" / name).mkdir()
            stage(folder / "in" / name)
            if action.call is not None:
                given.given(folder / "in" / name, stage.tree)
        for name in action.outputs:
            (folder / "out" / name).mkdir()
        return given

    def _start(self, action: Action, folder: Path, log: Path, going: Going) -> Ended:
        self._going.add(going)
        try:
            self._stop_here(action)
            return self.workers.run(
                folder=folder,
                log=log,
                deadline_s=self.turns.build_time.cut(action.deadline_s),
                env={"TMPDIR": "tmp", **self._let_through(action), **action.env},
                call=action.call,
                argv=[_filled(word, action) for word in action.argv],
                params=action.params,
                inputs=list(action.inputs),
                outputs=action.outputs,
                going=going,
            )
        except Lost:
            self._stop_here(action)
            raise
        finally:
            self._going.discard(going)

    def _may_start(self, action: Action) -> None:
        self._stop_here(action)
        self.turns.build_time.check()

    def _stop_here(self, action: Action) -> None:
        if self.cancelled:
            raise Cancelled(f"{action.name} was stopped")

    def _let_through(self, action: Action) -> dict[str, str]:
        """What `action.passes` names of the outside, and the store's folder of environments."""
        known = {**self.outside, "QNNBUILD_ENVS": str(self.store.root / "envs")}
        return {
            name: value
            for name, value in known.items()
            if any(fnmatchcase(name, pattern) for pattern in action.passes)
        }

    def _judge(self, action: Action, ended: Ended, word: dict[str, Any], log: Path) -> None:
        error = word.get("error")
        if error:
            kind = BY_EXIT_CODE.get(error["exit_code"], ToolError)
            raise kind(
                error["message"],
                at=_place(action, error["place"]),
                facts=[
                    *(_fact(action, name, told) for name, told in error["facts"]),
                    *_staged(action),
                    ("action", action.name),
                    ("log", str(log)),
                ],
                hint=error["hint"],
            )
        hint: str | None = None
        if ended.late:
            message = f"{action.name} took longer than its deadline of {action.deadline_s:g} s"
            hint = "give it more with `deadline:` in the recipe"
        elif ended.signal:
            message, hint = f"{action.name} was ended by signal {ended.signal}", _signal_hint(ended)
        elif ended.code:
            message = f"{action.name} failed with exit code {ended.code}"
        else:
            return
        self._check_room(action, log)
        said = last_lines(log)
        facts = [("last lines", "\n".join(said))] if said else []
        raise ToolError(
            message,
            at=_place(action, "graph"),
            facts=[*facts, ("log", str(log))],
            hint=hint or f"qnnbuild shell {action.name} opens a shell with its inputs in place",
        )

    def _check_room(self, action: Action, log: Path) -> None:
        """A tool whose disk is full cannot even say so in its log."""
        if shutil.disk_usage(self.store.root).free < FULL_BYTES:
            raise StoreError(
                f"{action.name} failed: the store's disk is full",
                facts=[("store", str(self.store.root)), ("log", str(log))],
                hint="make room, or give another folder with QNNBUILD_STORE",
            )

    def _kept(self, action: Action, folder: Path, log: Path, given: AsGiven) -> dict[str, Tree]:
        """All outputs; large ones at once, since to digest and to sync them is their only time."""
        keep = partial(self._keep, action, folder, log, given)
        large = 0
        if len(action.outputs) > 1:
            large = sum(map(_is_large, (folder / "out" / name for name in action.outputs)))
        if large < 2:  # a thread costs as much as ten small files
            return {name: keep(name) for name in action.outputs}
        with ThreadPoolExecutor(large) as threads:
            return dict(zip(action.outputs, threads.map(keep, action.outputs), strict=True))

    def _keep(self, action: Action, folder: Path, log: Path, given: AsGiven, name: str) -> Tree:
        top = folder / "out" / name
        files = {}
        for path in sorted(top.rglob("*")):
            inside = path.relative_to(top).as_posix()
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise self._broken(action, f"made a link where a file is wanted: {inside}", log)
            if path.is_file():
                files[inside] = self.store.add(path, given.digest(path))
        if not files:
            raise self._broken(action, f"ended well but did not make '{name}'", log)
        return Tree(files=files)

    def _broken(self, action: Action, what: str, log: Path) -> ToolError:
        return ToolError(
            f"{action.name} {what}", at=_place(action, "graph"), facts=[("log", str(log))]
        )


def _is_large(output: Path) -> bool:
    try:
        with os.scandir(output) as entries:
            return any(entry.stat(follow_symlinks=False).st_size > LARGE for entry in entries)
    except OSError:  # the action did something to it: who keeps it tells what is wrong
        return False


def last_lines(log: Path, count: int = LAST_LINES) -> list[str]:
    """The end of a log, without reading all of a long one."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 16_384))
        text = file.read().decode(errors="replace")
    return [line for line in without_colour(text).splitlines() if line.strip()][-count:]


def without_colour(text: str) -> str:
    """What a tool painted for a terminal, for a place that may be none."""
    return _COLOUR.sub("", text)


def _said(folder: Path) -> dict[str, Any]:
    """What the action's code left as its last word; nothing when it could not speak."""
    try:
        found: dict[str, Any] = json.loads((folder / "said.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found


def _place(action: Action, place: str) -> Span | None:
    """Where the user wrote it; "inputs.x" falls back to "inputs", then to graph or source."""
    while place:
        if place in action.places:
            return action.places[place]
        place = place.rpartition(".")[0]
    return action.places.get("graph") or action.places.get("source")


def _fact(action: Action, name: str, told: str) -> tuple[str, str]:
    """What repeats a failure by hand begins with the action's name, which its code cannot know."""
    return name, told.replace("{action}", shlex.quote(action.name)) if name == BY_HAND else told


def _staged(action: Action) -> list[tuple[str, str]]:
    """What the user calls the model that an action of a repo's file knows as model.onnx."""
    sources = action.inputs.values()
    return [("model.onnx", source.path) for source in sources if isinstance(source, SourceOnnx)]


def _at(action: Action, place: str, text: str) -> str:
    span = _place(action, place)
    return f"{span}: {text}" if span else text


def _filled(word: str, action: Action) -> str:
    for name in action.inputs:
        word = word.replace(f"{{in.{name}}}", f"in/{name}")
    for name in action.outputs:
        word = word.replace(f"{{out.{name}}}", f"out/{name}")
    return word


def _signal_hint(ended: Ended) -> str | None:
    if ended.signal in (6, 11):
        return "the tool crashed; its last words are in the log"
    return None
