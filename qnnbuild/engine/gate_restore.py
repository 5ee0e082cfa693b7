"""What only build/ lacks comes back by what the gate knows, with no plan.

Where all that a model stands on is as it was and folders of build/ are gone (`rm -r build`), a look
at every action would take longer than the copies.
"""

from __future__ import annotations

import os
import signal
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from qnnbuild.engine.gate import Gate, Restored, renew
from qnnbuild.engine.gate_file import ABSENT, COMMON, Group, Landed, Row, group_of
from qnnbuild.engine.places import BUILD
from qnnbuild.text.amounts import duration, told_size
from qnnbuild.text.shown import shown

if TYPE_CHECKING:
    from types import FrameType

    from qnnbuild.engine.gate_copies import Came

MOST_BYTES = 4 << 30
"""Above it the build does it, which shows how far it is and what it waits for."""

TOLD_BYTES = 1 << 28
"""From about a second on people want to know why nothing happens."""


def told(came: Iterable[Restored]) -> str:
    """As a build tells it: a line for each, and one for each warning of the run that made it."""

    def lines() -> Iterator[str]:
        for one in came:
            yield f"restored {shown(one.name, os.environ)} ({duration(0.0)})\n"
            for warning in one.warnings:
                yield f"  warning: {' '.join(shown(warning, os.environ).split())}\n"

    return "".join(lines())


class Lacking(NamedTuple):
    """A bundle of which no file is in build/."""

    group: str
    landed: Landed
    files: frozenset[str]  # below its folder
    size: int


def restore(
    gate: Gate, *, must_shut: bool = False, say: Callable[[str], None] = lambda _: None
) -> list[Restored]:
    """Put back what is lacking, and have the gate behind which it is know it; what came back.

    What cannot come back is left to the build, which tells why. With `must_shut` nothing is begun
    unless the gate is shut then.
    """
    lacking = list(_lacking(gate))
    store = gate.facts.get("store")
    if gate.listed is None or not (lacking or gate.gone) or not _may(gate, lacking, store):
        return []
    if must_shut and not _would_shut(gate, lacking):
        return []
    gate.is_as_seen = False
    came = _copied(gate, Path(str(store)), lacking, say) if lacking else {}
    _renew(gate, lacking, came)
    names = [(one, came[one.landed.lands]) for one in lacking if one.landed.lands in came]
    back = [Restored(one.landed.name, one.group, c.seconds, c.warnings) for one, c in names]
    gate.came += back
    return back


def _copied(
    gate: Gate, store: Path, lacking: Sequence[Lacking], say: Callable[[str], None]
) -> Mapping[str, Came]:
    """By where they land, those that came. Whoever stops it is told that nothing is lost."""
    from qnnbuild.engine.gate_copies import copies  # a build of nothing needs no store

    came: dict[str, Came] = {}
    size = sum(one.size for one in lacking)
    try:
        with signals_end_it():
            if size >= TOLD_BYTES:
                say(f"restoring {len(lacking):,} bundles, {told_size(size)}\n")
            copies(gate.root, store, lacking, came)
    except (KeyboardInterrupt, SystemExit):
        say(f"stopped: restored {len(came):,} of {len(lacking):,}; the same command goes on\n")
        raise
    return came


@contextmanager
def signals_end_it() -> Iterator[None]:
    """What asks the process to end lets it take away what is half done, as Ctrl-C does.

    Before doit there is nobody else who hears; below it, its handlers are there already.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    is_main = threading.current_thread() is threading.main_thread()
    ours = [n for n in numbers if is_main and signal.getsignal(n) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _may(gate: Gate, lacking: Sequence[Lacking], store: object) -> bool:
    """Whether it is for us to do; all of it can be done by the build."""
    from qnnbuild.engine.trust import trust_of
    from qnnbuild.errors import QnnbuildError

    with suppress(QnnbuildError):  # of a word that the build does not know either
        return (
            trust_of(os.environ).given
            and (not lacking or _is_beside(gate.root, store))
            and sum(one.size for one in lacking) <= MOST_BYTES
            and set(gate.gone) <= gate.facts["kept"].keys()
        )
    return False


def _is_beside(root: Path, store: object) -> bool:
    """Whether the store is on the disk of build/, so that whole folders can move there."""
    top = root / BUILD
    try:
        return os.stat(str(store)).st_dev == os.stat(top if top.exists() else root).st_dev
    except OSError:  # there is no store any more
        return False


def _would_shut(gate: Gate, lacking: Iterable[Lacking]) -> bool:
    names = {one.group for one in lacking}
    groups = (group for name, group in gate.groups.items() if name != COMMON and group.closed)
    behind = {g.recipe for g in groups if g.name in names or g.name not in gate.touched}
    return behind.issuperset(gate.listed or ())


def _lacking(gate: Gate) -> Iterator[Lacking]:
    """Of each group that is as it was but for whole bundles that are gone, those."""
    for name, different in gate.touched.items():
        group = gate.groups[name]
        if group.closed and name != COMMON and all(row == ABSENT for row in different.values()):
            found = list(_of_group(group, frozenset(different)))
            if sum(len(one.files) for one in found) == len(different):
                yield from found


def _of_group(group: Group, gone: frozenset[bytes]) -> Iterator[Lacking]:
    sizes = group.columns[Row._fields.index("size")]
    paths = group.paths
    for landed in group.landed:
        top = os.fsencode(f"{BUILD}/{landed.lands}/")
        # its files follow one another, since paths are sorted; "0" is what comes after "/"
        first, last = (bisect_left(paths, end) for end in (top, top[:-1] + b"0"))
        if first < last and gone.issuperset(paths[first:last]):
            files = frozenset(os.fsdecode(p[len(top) :]) for p in paths[first:last])
            size = sum(sizes[first:last])
            yield Lacking(group=group.name, landed=landed, files=files, size=size)


def _renew(gate: Gate, lacking: Sequence[Lacking], came: Mapping[str, Came]) -> None:
    """The ends come last, as after a build: index.json lists nothing that is not there."""
    from qnnbuild.engine.kept_ends import put_end

    missed = {one.group for one in lacking if one.landed.lands not in came}
    rows: defaultdict[str, dict[bytes, Row]] = defaultdict(dict)
    for one in lacking:
        if one.group not in missed:
            rows[one.group] |= came[one.landed.lands].rows
    groups = {name: _with(gate.groups[name], new) for name, new in rows.items()}
    gone = () if missed else gate.gone
    ends = {path: row for path in gone if (row := put_end(gate, path)) is not None}
    if groups or ends:
        renew(gate, groups, ends)


def _with(group: Group, new: Mapping[bytes, Row]) -> Group:
    return group_of(
        name=group.name,
        recipe=group.recipe,
        closed=group.closed,
        saved_s=group.saved_s,
        names=group.names,
        rows={**dict(group.rows()), **new},
        landed=group.landed,
    )
