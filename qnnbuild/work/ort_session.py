"""One ONNX Runtime session, created in a forked process: its bytes, its log, its crash are its own.

A second session in one process compiles to other bytes than the first, so each gets a process
that has made none. Its options and its model's path are what a plain script would give.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROVIDER = "QNNExecutionProvider"
WARNING, VERBOSE = 2, 0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """`model` is relative to `folder`: the path's text becomes part of the compiled bytes."""

    folder: Path
    model: str
    options: Mapping[str, str]  # of the provider
    entries: Mapping[str, str]  # of the session
    severity: int = WARNING


@dataclass(frozen=True, kw_only=True)
class Outcome:
    error: str | None  # what the runtime said; None when the session was created
    crash: str | None  # the signal's name
    log: str

    @property
    def created(self) -> bool:
        return self.error is None and self.crash is None


def create(wanted: Wanted, log: Path) -> Outcome:
    """Create the session and throw it away; what it wrote stays."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _in_the_child(wanted, log, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    crash = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
    ended_badly = status != 0 and crash is None
    return Outcome(
        error=said or ("the process ended without a word" if ended_badly else None),
        crash=crash,
        log=log.read_text(encoding="utf-8", errors="replace") if log.exists() else "",
    )


def _in_the_child(wanted: Wanted, log: Path, writing: int) -> None:
    code = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(wanted.folder)
        _create(wanted)
        code = 0
    except BaseException as error:  # noqa: BLE001  # the parent tells it
        os.write(writing, (str(error) or type(error).__name__).encode())
    finally:
        os._exit(code)


def _create(wanted: Wanted) -> None:
    import onnxruntime
    import onnxruntime_qnn

    library = onnxruntime_qnn.get_library_path()
    onnxruntime.register_execution_provider_library(PROVIDER, library)
    devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == PROVIDER]
    session = onnxruntime.SessionOptions()
    session.log_severity_level = wanted.severity
    for key, value in wanted.entries.items():
        session.add_session_config_entry(key, value)
    session.add_provider_for_devices(devices, dict(wanted.options))
    onnxruntime.InferenceSession(wanted.model, session)
