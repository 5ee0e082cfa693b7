"""Nothing but compiles happens in the process that compiles are forked from."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from qnnbuild.work import press


def test_the_press_has_one_thread_when_the_runtime_is_loaded(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = press.start(theirs.fileno())
        request = {"severity": 4, "entries": {}, "options": {}, "model": "not there"}
        told = press.ask(ours.fileno(), request, str(tmp_path), str(tmp_path / "log"))
        threads = [task.name for task in Path(f"/proc/{pid}/task").iterdir()]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    assert told["error"].startswith("[ONNXRuntimeError]")
    assert threads == [str(pid)]
