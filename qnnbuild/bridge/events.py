"""What a build tells tools: its events, in the form of events.schema.json (docs/events.md)."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qnnbuild.bridge.foresee import Foreseen, why
from qnnbuild.engine.event_lines import EventLines, open_descriptor
from qnnbuild.engine.state import Current, Stale, Waits
from qnnbuild.text.render import as_json

if TYPE_CHECKING:
    from qnnbuild.actions.plan import Plan
    from qnnbuild.digest import Json
    from qnnbuild.engine.outlook import Rest
    from qnnbuild.engine.state import Outcome, State
    from qnnbuild.engine.status import Going, Status
    from qnnbuild.errors import Problem, QnnbuildError

VERSION = 1
"""Raised when a reader of the form before would be misled; new events and fields do not."""

EVERY_S = 10.0
"""How often it is told how the whole stands, while something runs."""


class Events:
    """Safe between threads."""

    def __init__(self, lines: EventLines) -> None:
        self.lines = lines
        self.result: dict[str, Json] = {}  # what the reporter knows of the end
        self.refused: Sequence[Problem] = ()  # why nothing was built
        self._closed = threading.Event()
        self._teller: threading.Thread | None = None

    def began(self, root: Path, command: Sequence[str]) -> None:
        from importlib.metadata import version

        self._write(
            "build-began",
            version=VERSION,
            qnnbuild=version("qnnbuild"),
            build=uuid.uuid4().hex,
            root=str(root),
            command=list(command),
            pid=os.getpid(),
        )

    def planned(self, plan: Plan, foreseen: Foreseen, *, behind: int, workers: int) -> None:
        """`plan`: what is looked at; `behind`: how many actions more are known to be current."""
        outlook = foreseen.outlook
        self._write(
            "plan",
            looked_at=len(plan),
            behind_gate=behind,
            to_run=len(outlook),
            workers=workers,
            rest=_rest(outlook.rest({}, workers)),
        )
        for name, state in foreseen.states.items():
            action = plan[name]
            self._write(
                "action-planned",
                action=name,
                step=action.step,
                model=action.group or None,
                needs=list(action.needs()),
                state="waits" if isinstance(state, Waits) else "stale",
                why=list(why(state)),
                key=key_of(state),
                expected_s=outlook.seconds.get(name),
            )

    def started(self, name: str, worker: int, state: State | QnnbuildError) -> None:
        self._write("action-started", action=name, worker=worker, key=key_of(state))

    def waits(self, name: str, what_for: str) -> None:
        self._write("action-waits", action=name, waits_for=what_for)

    def runs(self, name: str, where: str, log: Path | None) -> None:
        self._write("action-runs", action=name, log=_text(log), where=where or None)

    def current(self, name: str, key: str, saved_s: float) -> None:
        """It was found current, and no worker had it."""
        self._ended(name, "reused", key=key, saved_s=saved_s)

    def made(self, outcome: Outcome, going: Going | None, log: Path | None) -> None:
        record = outcome.record
        ran = outcome.how in {"made", "cut off"}
        self._ended(
            outcome.name,
            outcome.how,
            key=record.key,
            worker=going.worker if going else None,
            where=(going.where if going else "") or None,
            seconds=outcome.seconds if ran else None,
            saved_s=outcome.saved_s,
            peak_bytes=record.peak_bytes if ran else None,
            bytes=sum(tree.size for tree in record.outputs.values()),
            warnings=list(record.warnings) if ran else [],
            log=_text(log) if ran else None,
        )

    def failed(
        self, name: str, error: QnnbuildError | None, going: Going | None, **more: Json
    ) -> None:
        """`error`: None where it was a bug of ours."""
        self._ended(
            name,
            "failed",
            worker=going.worker if going else None,
            where=(going.where if going else "") or None,
            seconds=round(going.spent_s, 3) if going else None,
            problems=as_json(error.problems) if error else [],
            exit_code=error.exit_code if error else 1,
            **more,
        )

    def stopped(self, name: str, going: Going, **more: Json) -> None:
        """Its run was ended because the build ends; nothing is wrong with it."""
        spent = round(going.spent_s, 3)
        where = going.where or None
        self._ended(name, "stopped", worker=going.worker, where=where, seconds=spent, **more)

    def unmet(self, name: str) -> None:
        self._ended(name, "not built")

    def watch(self, status: Callable[[], Status], every_s: float = EVERY_S) -> None:
        """Tell every so often how the whole stands, from a thread of its own."""

        def tell() -> None:
            while not self._closed.wait(every_s):
                now = status()
                if now.going:
                    self._write("progress", **_standing(now))

        self._teller = threading.Thread(target=tell, daemon=True, name="qnnbuild-events")
        self._teller.start()

    def quiet(self) -> None:
        """Nothing runs any more, so there is nothing to be told every so often."""
        self._closed.set()
        if self._teller is not None:
            self._teller.join()

    def ended(self, exit_code: int) -> None:
        self.quiet()
        how = "stopped" if exit_code > 128 or self.result.get("stopped") else "failed"
        facts = {name: value for name, value in self.result.items() if name != "stopped"}
        told = facts.pop("problems", None) or as_json(self.refused)
        self._write(
            "build-ended",
            how=how if exit_code else "done",
            exit_code=exit_code,
            problems=told,
            **{"counts": {}, "seconds": None, "saved_s": None, **facts},
        )

    def _ended(self, name: str, how: str, **facts: Json) -> None:
        self._write("action-ended", action=name, how=how, **facts)

    def _write(self, event: str, **facts: Json) -> None:
        self.lines.write(event, facts)


@contextmanager
def events_to(where: str, tell: Callable[[Problem], None]) -> Iterator[Events]:
    """Raises RecipeError for what cannot be written to."""
    lines = EventLines(open_descriptor(where), tell=tell)
    try:
        yield Events(lines)
    finally:
        lines.close()


def key_of(state: State | QnnbuildError) -> str | None:
    if isinstance(state, Current):
        return state.record.key
    return state.key if isinstance(state, Stale) else None


def _standing(status: Status) -> dict[str, Any]:
    return {
        "done": status.done,
        "total": status.total,
        "seconds": round(status.seconds, 3),
        "going": [_going(one) for one in status.going],
        "then": [{"action": name, "after": list(after)} for name, after in status.then],
        "rest": _rest(status.rest),
    }


def _going(one: Going) -> dict[str, Json]:
    return {
        "action": one.name,
        "worker": one.worker,
        "spent_s": round(one.spent_s, 3),
        "expected_s": one.expected_s,
        "waits_for": one.waits_for or None,
        "where": one.where or None,
    }


def _rest(rest: Rest | None) -> Mapping[str, Json] | None:
    return None if rest is None else {**asdict(rest), "seconds": round(rest.seconds, 3)}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
