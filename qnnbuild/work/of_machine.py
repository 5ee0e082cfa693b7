"""Failures whose reason is this machine: elsewhere, or a little later, they may not be. Pure.

They say nothing of a model, so none of them is the failure that a recipe knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from qnnbuild.work.run import WorkError

NOT_STARTED = (126, 127)
"""A shell's exit codes for what cannot be run, and the loader's."""

FROM_OUTSIDE = (1, 2, 9, 15)
"""SIGHUP, SIGINT, SIGKILL and SIGTERM: nobody sends them to himself. Without memory the kernel
sends the third.
"""

WORDS = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system"
    r"|Cannot allocate memory|Too many open files|Input/output error"
    r"|error while loading shared libraries|cannot open shared object file"
    r"|version `GLIBC\w*_[0-9.]+' not found"
    r"|No module named '"
    r"|(?:clang\+\+|objcopy|make|ndk-build)(?::(?: command)? not found|: No such file or directory)"
    r"|\((?:SIGHUP|SIGINT|SIGKILL|SIGTERM)\)"
)
"""What the system, the loader, Python and the shell say; a signal as our own errors tell it."""


class MachineError(WorkError):
    """The run cannot end well on this machine as it is."""


def kind_of(code: int, lines: Iterable[str]) -> type[WorkError]:
    """The kind of a tool's failure. `code` is negative for a signal, as in subprocess."""
    is_of_machine = code in NOT_STARTED or -code in FROM_OUTSIDE or speaks_of_machine(lines)
    return MachineError if is_of_machine else WorkError


def is_of_machine(error: WorkError) -> bool:
    """Also of one that was told again as another's, in its words."""
    said = (error.message, *(text for name, text in error.facts if name != "by hand"))
    return isinstance(error, MachineError) or speaks_of_machine(said)


def speaks_of_machine(lines: Iterable[str]) -> bool:
    return any(WORDS.search(line) for line in lines)
