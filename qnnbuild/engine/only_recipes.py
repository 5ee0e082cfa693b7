"""That a checkout has nothing for doit but recipes, so that a build of nothing needs no doit.

A `dodo.py` may define tasks, and it, `doit.cfg` and `pyproject.toml` may say what plain `doit`
does. Only doit can tell, and importing it takes a tenth of a second. So a run that found nothing
of the kind leaves a note with the signatures of these files; while they are the same, `qnnbuild
build` asks the gate and no one else.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from qnnbuild.engine.gate import Gate, look, mark
from qnnbuild.engine.places import OF_CHECKOUT
from qnnbuild.engine.signature import RACY_NS, Signature
from qnnbuild.engine.small_file import NotSmall, read_json
from qnnbuild.text.amounts import told_end

FILES = ("dodo.py", "doit.cfg", "pyproject.toml")
"""What doit reads of a checkout."""

SPEED = re.compile(r"((-n ?|--process[ =])\d+|-c|--continue)( |$)")
"""Words that say how to build, and change nothing where nothing is built."""

MOST = 1 << 20
NEVER = -1

Signatures = list[list[int] | None]


def signatures(root: Path) -> Signatures:
    """Of doit's files as they are now; None for one that is not there."""
    found = (Signature.of(root / name) for name in FILES)
    return [None if one is None else list(one) for one in found]


def note(root: Path, then: Signatures | None) -> None:
    """Keep that there is nothing else, or with None that there is.

    Nothing is kept when doit's files changed since `then`, or since this process began: doit read
    some of them before anybody could look.
    """
    from qnnbuild.engine.store import place  # a build of nothing would import it for nothing

    with suppress(OSError):  # it saves a moment, and a build is no worse without it
        if then is None or then != signatures(root) or not _are_old(then):
            _file(root).unlink(missing_ok=True)
        elif not is_noted(root):
            place(_file(root), json.dumps(_told(root)).encode())


def is_noted(root: Path) -> bool:
    try:
        return bool(read_json(_file(root), MOST) == _told(root))
    except (OSError, NotSmall, ValueError, RecursionError):
        return False


def nothing_to_do(
    root: Path, words: Sequence[str], began: float, say: Callable[[str], None]
) -> str | None:
    """What tells so; None: there may be work, or doit has to tell.

    `words` are what doit is asked, `began` is when, by the monotonic clock. Bundles that build/
    alone lacks have come back then; `say` tells before what takes a while.
    """
    if not says_nothing_else(words) or not is_noted(root):
        return None
    gate = look(root)
    lines = "" if gate.is_shut else _restored(gate, say)
    actions = sum(group.actions for group in gate.closed.values())
    if not gate.is_shut or not actions:
        if lines:
            say(lines)
        return None
    restored = [one for one in gate.came if one.group in gate.closed]
    saved_s = sum(group.saved_s for group in gate.closed.values())
    saved_s -= sum(one.seconds for one in restored)
    what = f"reused {actions - len(restored):,}"
    what = f"restored {len(restored):,}, {what}" if restored else f"nothing to do: {what}"
    return lines + told_end(what, time.monotonic() - began, saved_s)


def _restored(gate: Gate, say: Callable[[str], None]) -> str:
    """What came back, in lines."""
    from qnnbuild.engine.gate_restore import restore, told  # a build of nothing has no use for it

    return told(restore(gate, must_shut=True, say=say))


def says_nothing_else(words: Sequence[str]) -> bool:
    """Whether all is to be built and told as always."""
    if os.environ.get("GITHUB_STEP_SUMMARY") or any(n.startswith("DOIT_") for n in os.environ):
        return False
    return not SPEED.sub("", " ".join(words))


def _are_old(then: Signatures) -> bool:
    times = (max(mtime, ctime) for mtime, ctime, *_ in filter(None, then))
    return max(times, default=NEVER) < _process_began_ns() - RACY_NS


def _process_began_ns() -> int:
    """Since 1970, as the kernel counts it: to 10 ms."""
    ticks = int(Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()[19])
    since_boot_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + since_boot_ns


def _told(root: Path) -> dict[str, object]:
    """As JSON gives it back. The mark tells a note of this machine from one of the repo's."""
    told: dict[str, object] = {"mark": mark(root), "files": signatures(root)}
    return told


def _file(root: Path) -> Path:
    return root / OF_CHECKOUT / "only-recipes"
