"""That a checkout has nothing for doit but recipes, so that a build of nothing needs no doit.

A `dodo.py` may define tasks, and it, `doit.cfg` and `pyproject.toml` may say what plain `doit`
does. Only doit can tell, and importing it takes a tenth of a second. So a run that found nothing
of the kind leaves a note with the signatures of these files; while they are the same, `qnnbuild
build` takes a glance and asks no one else. It imports as little as `glance` does.
"""

from __future__ import annotations

import os
import time

from qnnbuild.engine.gate_stat import stamp
from qnnbuild.engine.glance import glance, mark
from qnnbuild.engine.places import OF_CHECKOUT
from qnnbuild.engine.small_file import NotSmall, read_small
from qnnbuild.text.amounts import told_end

TYPE_CHECKING = False  # as in glance
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from qnnbuild.engine.gate_stat import Stamp
    from qnnbuild.engine.glance import Glance

FILES = ("dodo.py", "doit.cfg", "pyproject.toml")
"""What doit reads of a checkout."""

SPEED = r"((-n ?|--process[ =])\d+|-c|--continue)( |$)"
"""Words that say how to build, and change nothing where nothing is built."""

MOST = 1 << 20
NAME = "only-recipes"


def signatures(root: Path | str) -> Sequence[Stamp]:
    """Of doit's files as they are now."""
    return [stamp(os.path.join(root, name)) for name in FILES]


def note(root: Path, then: Sequence[Stamp] | None) -> None:
    """Keep that there is nothing else, or with None that there is.

    Nothing is kept when doit's files changed since `then`, or since this process began: doit read
    some of them before anybody could look.
    """
    from qnnbuild.engine.store import place  # a build of nothing would import it for nothing

    try:
        if then is None or then != signatures(root) or not _are_old(then):
            os.unlink(_file(root))
        elif not is_noted(root):
            place(root / OF_CHECKOUT / NAME, _told(root))
    except OSError:
        return  # it saves a moment, and a build is no worse without it


def is_noted(root: Path | str) -> bool:
    try:
        return read_small(_file(root), MOST) == _told(root)
    except (OSError, NotSmall):
        return False


_seen: dict[str, Glance] = {}
"""By root, a glance of this process that told of work: nobody has to take another at once."""


def seen(root: Path | str) -> Glance | None:
    """It counts once: whoever looks again wants to know how it is then."""
    return _seen.pop(os.path.abspath(root), None)


def nothing_to_do(
    root: str, words: Sequence[str], began: float, say: Callable[[str], None]
) -> str | None:
    """What tells so; None: there may be work, or doit has to tell.

    `words` are what doit is asked, `began` is when, by the monotonic clock. Bundles that build/
    alone lacks have come back then; `say` tells before what takes a while.
    """
    if os.path.abspath(root) in _seen or not says_nothing_else(words) or not is_noted(root):
        return None
    found = glance(root)
    if found.is_shut and found.parts is not None:
        what = f"nothing to do: reused {found.parts.actions:,}"
        return told_end(what, time.monotonic() - began, found.parts.saved_s)
    return _restored(root, found, began, say)


def _restored(root: str, found: Glance, began: float, say: Callable[[str], None]) -> str | None:
    """The same where bundles had to come back."""
    from pathlib import Path

    # a build of nothing has no use for them
    from qnnbuild.engine.gate import look
    from qnnbuild.engine.gate_restore import restore, told

    gate = look(Path(root), found)
    lines = told(restore(gate, must_shut=True, say=say))
    actions = sum(group.actions for group in gate.closed.values())
    if not gate.is_shut or not actions:
        if lines:
            say(lines)
        if gate.is_as_seen:
            _seen[os.path.abspath(root)] = found
        return None
    restored = [one for one in gate.came if one.group in gate.closed]
    saved_s = sum(group.saved_s for group in gate.closed.values())
    saved_s -= sum(one.seconds for one in restored)
    what = f"reused {actions - len(restored):,}"
    what = f"restored {len(restored):,}, {what}" if restored else f"nothing to do: {what}"
    return lines + told_end(what, time.monotonic() - began, saved_s)


def says_nothing_else(words: Sequence[str]) -> bool:
    """Whether all is to be built and told as always."""
    if os.environ.get("GITHUB_STEP_SUMMARY") or any(n.startswith("DOIT_") for n in os.environ):
        return False
    if not words:
        return True
    import re  # it takes longer than all the rest

    return not re.sub(SPEED, "", " ".join(words))


def _are_old(then: Sequence[Stamp]) -> bool:
    from qnnbuild.engine.signature import RACY_NS

    times = (max(mtime, ctime) for mtime, ctime, *_ in then)
    return max(times) < _process_began_ns() - RACY_NS


def _process_began_ns() -> int:
    """Since 1970, as the kernel counts it: to 10 ms."""
    with open("/proc/self/stat", encoding="ascii") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    since_boot_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + since_boot_ns


def _told(root: Path | str) -> bytes:
    """The mark tells a note of this machine from one of the repo's."""
    return f"{mark(root)}\n{signatures(root)}\n".encode("utf-8", "surrogateescape")


def _file(root: Path | str) -> str:
    return os.path.join(root, OF_CHECKOUT, NAME)
