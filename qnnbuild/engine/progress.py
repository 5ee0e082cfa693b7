"""What a build says while it runs: one live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType

    from qnnbuild.engine.state import Outcome

STILL_RUNNING_S = 30.0
"""How often plain output tells that something is still running."""


class View(Protocol):
    """How it is shown. All calls come under one lock."""

    def started(self, name: str) -> None: ...

    def ended(self, name: str, line: str) -> None: ...

    def counts(self, done: int, text: str) -> None: ...

    def say(self, text: str) -> None: ...

    def close(self) -> None: ...


class Progress:
    """Counts what comes of each action; shows nothing before the first one runs."""

    def __init__(
        self, out: TextIO, *, before: int = 0, saved_s: float = 0.0, began: float | None = None
    ) -> None:
        self.out = out
        self.before = before  # actions that are known to be current
        self.total = 0  # actions that are looked at
        self.counts: Counter[str] = Counter(reused=before)
        self.saved_s = saved_s
        self.began = time.monotonic() if began is None else began
        self._view: View | None = None
        self._lock = threading.RLock()

    def expect(self, total: int) -> None:
        """How many actions will be looked at."""
        self.total = total

    def started(self, name: str) -> None:
        with self._lock:
            if self._view is None:
                self._view = Live(self) if is_terminal(self.out) else Plain(self.out)
            self._view.started(name)
            self._show()

    def ended(self, outcome: Outcome) -> None:
        with self._lock:
            self.counts[outcome.how] += 1
            self.saved_s += outcome.saved_s
            if self._view is not None:
                line = f"{outcome.how} {outcome.name} ({duration(outcome.seconds)})"
                self._view.ended(outcome.name, line)
                if outcome.how != "reused":
                    for warning in outcome.record.warnings:
                        self._view.say(f"  warning: {warning}\n")
            self._show()

    def reused(self, saved_s: float) -> None:
        with self._lock:
            self.counts["reused"] += 1
            self.saved_s += saved_s
            self._show()

    def failed(self, name: str, text: str) -> None:
        with self._lock:
            self.counts["failed"] += 1
            if self._view is not None:
                self._view.ended(name, f"failed {name}")
                self._view.say(text)
            else:
                self.out.write(text)
            self._show()

    def unmet(self) -> None:
        """One is not made because one that it needs failed."""
        with self._lock:
            self.counts["not built"] += 1
            self._show()

    def say(self, text: str) -> None:
        """Something that is not about an action of ours."""
        with self._lock:
            if self._view is not None:
                self._view.say(text)
            else:
                self.out.write(text)

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    def _show(self) -> None:
        if self._view is not None:
            self._view.counts(self.done, self._told())

    def close(self) -> None:
        """End the live line; what is written from now on stays below it."""
        with self._lock:
            if self._view is not None:
                self._view.close()
                self._view = None

    def summary(self, *, stopped: bool = False) -> str:
        """What came of the build, as its last line."""
        left = self.before + self.total - self.done
        if left > 0 and (stopped or self.counts["failed"]):
            self.counts["not built"] += left
        took = duration(time.monotonic() - self.began)
        saved = f", saved {duration(self.saved_s)}" if self.saved_s else ""
        told = self._told() or "nothing to build"
        if set(+self.counts) == {"reused"}:
            told = f"nothing to do: {told}"
        return f"{'stopped: ' if stopped else ''}{told}; took {took}{saved}\n"

    def _told(self) -> str:
        order = ("made", "fetched", "restored", "reused", "cut off", "failed", "not built")
        return ", ".join(f"{how} {self.counts[how]:,}" for how in order if self.counts[how])


class Plain:
    """A line for each action that ran, and a sign of life when nothing ends for long."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._since: dict[str, float] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._tell, daemon=True).start()

    def started(self, name: str) -> None:
        self._since[name] = time.monotonic()

    def ended(self, name: str, line: str) -> None:
        self._since.pop(name, None)
        self.say(line + "\n")

    def counts(self, done: int, text: str) -> None:
        """Counts stand in the last line."""

    def say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    def close(self) -> None:
        self._closed.set()

    def _tell(self) -> None:
        while not self._closed.wait(STILL_RUNNING_S):
            now = time.monotonic()
            running = [f"{n} ({duration(now - since)})" for n, since in [*self._since.items()]]
            if running:
                self.say(f"still running: {', '.join(running)}\n")


class Live:
    """One line: a bar, done of all, the time, what came of them, what runs now."""

    def __init__(self, progress: Progress) -> None:
        # rich takes a tenth of a second to import: only where there is something to see
        from rich.console import Console
        from rich.live import Live as Region

        self._total = max(progress.total + progress.before, 1)
        self._done = 0
        self._text = ""
        self._began = progress.began
        self._running: dict[str, None] = {}
        self._region = Region(
            get_renderable=self._line,
            console=Console(file=progress.out),
            transient=True,
            refresh_per_second=8,
        )
        self._region.start()

    def _line(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        line = Table.grid(padding=(0, 1), expand=True)
        for _ in range(4):
            line.add_column(no_wrap=True)
        line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        line.add_row(
            ProgressBar(total=self._total, completed=min(self._done, self._total), width=20),
            f"{self._done:,}/{self._total:,}",
            duration(time.monotonic() - self._began),
            self._text,
            ", ".join([*self._running]),
        )
        return line

    def started(self, name: str) -> None:
        self._running[name] = None

    def ended(self, name: str, line: str) -> None:
        self._running.pop(name, None)
        self.say(line + "\n")

    def counts(self, done: int, text: str) -> None:
        self._done, self._text = done, text

    def say(self, text: str) -> None:
        from rich.text import Text

        self._region.console.print(Text.from_ansi(text.rstrip("\n")), soft_wrap=True)

    def close(self) -> None:
        self._region.stop()


def is_terminal(out: TextIO) -> bool:
    """Whether a line can be written over; a CI's log keeps every state of it."""
    return out.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")


def duration(seconds: float) -> str:
    """0.3 s, 12 s, 3 min 5 s, 5 h 12 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"
