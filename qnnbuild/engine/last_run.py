"""When each action of a build ran, and where: kept in the checkout, beside the records.

Records are of contents, so times of a build are no part of them, nor of any key. What was current
before a build began is not in it; a build in which nothing ran leaves the file as it is.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from qnnbuild.engine.build_time import OF_THE_BUILD, Cancelled
from qnnbuild.engine.gate import gate_file
from qnnbuild.engine.state import Outcome
from qnnbuild.engine.store import on_disk, place
from qnnbuild.errors import QnnbuildError
from qnnbuild.report.standing import LastRun, Ran

FORM = 1
FAILED = "failed"
NO_NEWS = ("reused", "restored")


class RunLog:
    """Of one build. Safe between threads."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self.path = path_of(root)
        self._clock = clock
        self._first = clock()
        self._began = ""
        self._lock = threading.Lock()
        self._ran: dict[str, Ran] = {}

    def make(self, name: str, make: Callable[[], Outcome]) -> Outcome:
        """Do it, and remember when and how it ended; what was stopped did not end."""
        with self._lock:
            if not self._began:
                self._first = self._clock()
                self._began = datetime.now(UTC).isoformat(timespec="seconds")
        began = self._clock()
        try:
            outcome = make()
        except (Cancelled, *OF_THE_BUILD):
            raise
        except QnnbuildError:
            self._keep(name, FAILED, began, self._clock() - began, "")
            raise
        self._keep(name, outcome.how, began, outcome.seconds, outcome.worker)
        return outcome

    def _keep(self, name: str, how: str, began: float, seconds: float, worker: str) -> None:
        began, ended = (round(at - self._first, 3) for at in (began, self._clock()))
        own = round(min(seconds, ended - began), 3)
        self._ran[name] = Ran(how=how, began=began, ended=ended, seconds=own, worker=worker)

    def finish(self) -> None:
        """Write it, if there is anything to tell.

        Copies out of the store are no news, unless the build before failed: it is over then.
        """
        if all(one.how in NO_NEWS for one in self._ran.values()):
            before = last_run(self._root) if self._ran else None
            if before is None or all(one.how != FAILED for one in before.actions.values()):
                return
        took = max(one.ended for one in self._ran.values())
        run = LastRun(began=self._began, seconds=took, actions=self._ran)
        with on_disk("the times of the build cannot be kept"):
            place(self.path, json.dumps({"form": FORM, **asdict(run)}).encode())


def last_run(root: Path) -> LastRun | None:
    """What the last build in this checkout wrote; None where that is nothing that can be read."""
    try:
        found = json.loads(path_of(root).read_text(encoding="utf-8"))
        if found.pop("form") != FORM:
            return None
        actions = {name: Ran(**one) for name, one in found.pop("actions").items()}
        return LastRun(**found, actions=actions)
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None  # it is for people to look at: the next build writes it again


def path_of(root: Path) -> Path:
    return gate_file(root).with_name("last-run.json")
