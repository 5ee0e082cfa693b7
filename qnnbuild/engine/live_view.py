"""What a build shows on a terminal: a bar for the whole, one for each worker, and what comes next.

Imported where there is something to see only: rich takes a tenth of a second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from qnnbuild.engine.status import Going, Status, told_rest
from qnnbuild.text.amounts import duration
from qnnbuild.text.render import clean

A_SECOND = 5
"""How often it is drawn anew."""

WIDE, NARROW = 72, 40
"""Columns: from WIDE on there are bars, below NARROW times of single actions are left out."""

BAR = 18
TIME = 20
THEN = 2
"""So many of those that start next are shown."""


class LiveView:
    def __init__(self, out: TextIO, status: Callable[[], Status]) -> None:
        self._status = status
        self._closed = threading.Event()
        self._region = Live(console=Console(file=out), transient=True, auto_refresh=False)
        self._region.start()
        # rich's own thread would ask how it stands while it holds the lock that `say` wants
        self._drawer = threading.Thread(target=self._draw, daemon=True, name="qnnbuild-progress")
        self._drawer.start()

    def say(self, text: str) -> None:
        self._region.console.print(Text.from_ansi(text.rstrip("\n")), soft_wrap=True)

    def close(self) -> None:
        self._closed.set()
        self._drawer.join()
        self._region.stop()

    def _draw(self) -> None:
        while not self._closed.is_set():
            picture = Picture(self._status())
            try:
                self._region.update(picture, refresh=True)
            except (OSError, ValueError):  # the terminal is gone; who writes next hears of it
                return
            self._closed.wait(1 / A_SECOND)


class Picture:
    """One moment, in lines that fit: none is wider than the terminal, nor all higher."""

    def __init__(self, status: Status) -> None:
        self.status = status

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # a line as wide as the terminal wraps on some, and then the wrong ones are written over
        width = max(options.max_width - 1, 1)
        yield Group(*_lines(self.status, width, max(console.size.height - 1, 1)))


def _lines(status: Status, width: int, height: int) -> Iterator[RenderableType]:
    yield _whole(status, width)
    room = height - 1
    then = status.then[:THEN] if room > THEN and width >= NARROW else ()
    room -= len(then)
    shown = status.going if len(status.going) <= room else status.going[: max(room - 1, 0)]
    if shown:
        yield _workers(shown, width)
    if len(shown) < len(status.going) and room > 0:
        yield _line(f"and {len(status.going) - len(shown):,} more", width, "dim")
    for name, waits_for in then:
        yield _line(f"then {name} after {', '.join(waits_for)}", width, "dim")


def _whole(status: Status, width: int) -> RenderableType:
    spent = duration(status.seconds)
    said = [f"{status.done:,}/{status.total:,}", spent, told_rest(status.rest), status.told]
    text = Text("  ".join(part for part in said if part), no_wrap=True, overflow="ellipsis")
    if width < WIDE:
        text.truncate(width, overflow="ellipsis")
        return text
    return _row(width, _bar(status.done, status.total), text)


def _workers(going: tuple[Going, ...], width: int) -> Table:
    table = _table(width, 1 if width < NARROW else 2 if width < WIDE else 3)
    if width >= WIDE:
        table.columns[1].min_width = TIME  # so that names stand still while times grow
    for one in going:
        style = "yellow" if one.waits_for or _is_over(one) else ""
        name = Text(clean(one.name if not one.where else f"{one.name} on {one.where}"))
        time = Text(_time(one), style=style)
        cells = [name] if width < NARROW else [time, name]
        bar = [] if width < WIDE else [_bar(0 if one.waits_for else one.spent_s, one.expected_s)]
        table.add_row(*bar, *cells)
    return table


def _time(one: Going) -> str:
    if one.waits_for:
        return f"waits for {one.waits_for}"
    of = "?" if one.expected_s is None else f"about {duration(one.expected_s)}"
    return f"{duration(one.spent_s)} of {of}"


def _is_over(one: Going) -> bool:
    return one.expected_s is not None and one.spent_s > one.expected_s


def _bar(done: float, total: float | None) -> ProgressBar:
    """Empty where it is not known how much there is."""
    whole = max(total or 0.0, 1e-6)
    return ProgressBar(total=whole, completed=min(done, whole) if total else 0.0, width=BAR)


def _row(width: int, *cells: RenderableType) -> Table:
    table = _table(width, len(cells))
    table.add_row(*cells)
    return table


def _table(width: int, columns: int) -> Table:
    """What is last takes the room that there is, and is cut where there is too little."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.width = width
    for _ in range(columns - 1):
        table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    return table


def _line(text: str, width: int, style: str) -> Text:
    line = Text(clean(text), style=style, no_wrap=True, overflow="ellipsis")
    line.truncate(width, overflow="ellipsis")
    return line
