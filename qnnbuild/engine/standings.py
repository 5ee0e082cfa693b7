"""What a report asks for, out of a builder: states, records, failures, small JSON artifacts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from qnnbuild.digest import Digest
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.failures import told_of
from qnnbuild.engine.last_run import last_run
from qnnbuild.engine.runner import last_lines
from qnnbuild.engine.state import Current, State, Waits
from qnnbuild.errors import QnnbuildError, StoreError
from qnnbuild.report.standing import Failure, LastRun, Standing

LAST_LINES = "last lines"
"""The fact of a tool's failure that is told apart."""

LEFT_OUT = (LAST_LINES, "log", "action")


class Standings:
    """Each asked for once: a report is a look at one moment. `state` is the builder's own."""

    def __init__(self, builder: Builder, state: Callable[[str], State] | None = None) -> None:
        self.builder = builder
        self._state = state or builder.state
        self._known: dict[str, Standing] = {}
        self._read: dict[Digest, Any] = {}

    def standing(self, name: str) -> Standing:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._standing(name)
        return found

    def read(self, name: str, output: str, file: str) -> Any:
        record = self.standing(name).record
        tree = record.outputs.get(output) if record is not None else None
        if tree is None or file not in tree.files:
            return None
        digest, size = tree.files[file]
        if digest not in self._read:
            if not self.builder.remote.bring([(digest, size)]):
                return None
            try:
                self._read[digest] = json.loads(self.builder.store.read(digest))
            except StoreError:  # damaged just now: the next build makes it again and tells of it
                return None
        return self._read[digest]

    def last_run(self) -> LastRun | None:
        return self._last_run

    @cached_property
    def _last_run(self) -> LastRun | None:
        return last_run(self.builder.inputs.root)

    def _standing(self, name: str) -> Standing:
        # what waits for something that failed was not looked at: its own state says nothing new
        waits = [
            need
            for need in self.builder.plan[name].needs()
            if self.standing(need).kind != "current"
        ]
        if waits:
            return Standing(kind="waits", why=(f"for {', '.join(waits)}",))
        try:
            state = self._state(name)
        except QnnbuildError as error:
            return Standing(kind="failed", failure=_failure(told_of(error), None, ()))
        if isinstance(state, Current):
            key = state.record.key
            return Standing(kind="current", key=key, log=self._log(key), record=state.record)
        if isinstance(state, Waits):
            return Standing(kind="waits", why=(f"for {', '.join(state.on)}",))
        log = self._log(state.key)
        failed = self.builder.failures.get(state.key)
        if failed is None:
            return Standing(kind="stale", why=state.reasons, key=state.key, log=log)
        path = self.builder.store.log(state.key)
        lines = tuple(last_lines(path)) if path.exists() else ()
        return Standing(
            kind="failed",
            why=state.reasons,
            key=state.key,
            log=log,
            failure=_failure(failed, log, lines),
        )

    def _log(self, key: Digest) -> str:
        path: Path = self.builder.store.log(key)
        return path.relative_to(self.builder.store.root).as_posix()


def _failure(told: dict[str, Any], log: str | None, lines: tuple[str, ...]) -> Failure:
    facts = [(label, text) for label, text in told["facts"]]
    said = dict(facts).get(LAST_LINES)
    return Failure(
        message=told["message"],
        exit_code=told["exit_code"],
        at=told["at"],
        facts=tuple((label, text) for label, text in facts if label not in LEFT_OUT),
        hint=told["hint"],
        last_lines=tuple(said.splitlines()) if said else lines,
        log=log,
    )
