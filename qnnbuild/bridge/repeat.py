"""The command that does it again: what was typed, and the same for single actions."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

KEPT = (("dodoFile", "-f"), ("cwdPath", "-d"), ("seek_file", "-k"))
TRUST = (("trust", "--trust"), ("no_trust", "--no-trust"))
"""Options without which it would not be the same build."""


def typed(argv: Sequence[str]) -> str:
    """The command line that this process was started by, to be pasted into a shell."""
    return shlex.join([*_program(argv), *argv[1:]])


def of_actions(argv: Sequence[str], given: Mapping[str, Any], names: Iterable[str]) -> str:
    """The command that builds `names` alone. `given`: the options, as doit has read them."""
    program = _program(argv)
    ours = program[-1] == "qnnbuild"
    typed_here = getattr(given, "_non_default_keys", frozenset(given))
    options = [
        word
        for name, flag in (*KEPT, *TRUST)
        if name in typed_here and given.get(name)
        for word in ([flag] if given[name] is True else [flag, str(given[name])])
    ]
    if ours:  # it took the word before doit could read it
        options += [whole for _, whole in TRUST if any(_means(word, whole) for word in argv[1:])]
    return shlex.join([*program, *(["build"] if ours else []), *options, *names])


def _means(word: str, whole: str) -> bool:
    """The beginning of an option stands for it."""
    return len(word) >= len("--no-t") and whole.startswith(word)


def _program(argv: Sequence[str]) -> list[str]:
    path = Path(argv[0])
    return ["python", "-m", path.parent.name] if path.name == "__main__.py" else [path.name]
