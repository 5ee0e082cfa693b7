"""ONNX Runtime sessions, created in a forked process: its bytes, its log, its crash are its own.

A second session in one process compiles to other bytes than the first, so each gets a process
that has made none: a fork of the press, where there is one. Its options and its model's path
are what a plain script would give.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qnnbuild.work import deadlines, press

WARNING, VERBOSE = 2, 0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """`model` is relative to `folder`: the path's text becomes part of the compiled bytes."""

    folder: Path
    model: str
    options: Mapping[str, str]  # of the provider
    entries: Mapping[str, str]  # of the session
    severity: int = WARNING
    environment: Mapping[str, str] = field(default_factory=dict)  # what the plugin reads of it
    feeds: str = ""  # an .npz of arrays in the order of the inputs, to run what was created
    answers: str = ""  # the .npz that this makes


@dataclass(frozen=True, kw_only=True)
class Outcome:
    error: str | None  # what the runtime said; None when the session was created
    crash: str | None  # the signal's name
    log: str
    peak_bytes: int = 0  # 0: not measured apart from the process that asked

    @property
    def created(self) -> bool:
        return self.error is None and self.crash is None


def create(wanted: Wanted, log: Path) -> Outcome:
    """Create the session and throw it away; what it wrote stays."""
    return _created(_request(wanted), wanted.folder, log)


def create_in_turn(wanted: Sequence[Wanted], log: Path) -> Outcome:
    """Create all of them in one process, in the first one's folder; each lives to the end."""
    request = {"in_turn": [_request(one) for one in wanted]}
    return _created(request, wanted[0].folder, log)


def _request(wanted: Wanted) -> dict[str, Any]:
    return {
        "model": wanted.model,
        "options": dict(wanted.options),
        "entries": dict(wanted.entries),
        "severity": wanted.severity,
        **({"feeds": wanted.feeds, "answers": wanted.answers} if wanted.feeds else {}),
        **({"environment": dict(wanted.environment)} if wanted.environment else {}),
    }


def _created(request: Mapping[str, Any], folder: Path, log: Path) -> Outcome:
    pressed = os.environ.get(press.HANDED_OVER)
    if pressed is None:
        answer = _in_a_fork(request, folder, log)
    else:
        answer = press.ask(int(pressed), request, str(folder), str(log))
    return Outcome(
        error=answer["error"] or None,
        crash=answer["crash"],
        log=log.read_text(encoding="utf-8", errors="replace") if log.exists() else "",
        peak_bytes=answer.get("peak_bytes", 0),
    )


def _in_a_fork(request: Mapping[str, Any], folder: Path, log: Path) -> dict[str, Any]:
    """Without a press, as in a plain script: right, but not the same bytes for every model."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = deadlines.fork()
    if child == 0:
        _in_the_child(request, folder, log, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    crash = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
    return {"error": said, "crash": crash}


def _in_the_child(request: Mapping[str, Any], folder: Path, log: Path, writing: int) -> None:
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(folder)
        press.create_sessions(request)
    except BaseException as error:  # noqa: BLE001  # the parent tells it
        os.write(writing, (str(error) or type(error).__name__).encode())
    finally:
        os._exit(0)
