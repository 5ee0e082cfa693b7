"""The build's side of the warm server: start it when first needed, send requests, await answers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.digest import Json
from qnnbuild.errors import ToolError

START = (
    "import sys,os\n"
    "p=os.environ['QNNBUILD_PATH'].split(os.pathsep)\n"
    "sys.path[:0]=[x for x in p if x not in sys.path]\n"
    "from qnnbuild.engine.server import main\n"
    "main(0)\n"
)

FIXED_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ORT_DISABLE_TELEMETRY": "1",  # else it reports to its makers, from a thread of its own
    "HOME": "/nonexistent",
}
"""What every action sees; its own `env` comes on top. Equal on every machine, so not in keys."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a child ended: exit code or signal; `late` when its deadline ended it."""

    code: int
    signal: int
    late: bool
    peak_bytes: int
    cpu_s: float


class Lost(ToolError):
    """The server died; nothing can be said about the action."""


class NotStarted(Lost):
    """The server would not start, and would not the next time."""


class Workers:
    """`warm` are "module:function" entries that the server calls once before it forks."""

    def __init__(self, warm: Sequence[str] = (), path: Sequence[str] = ()) -> None:
        self.warm = tuple(warm)
        self.path = tuple(path) or tuple(os.path.abspath(p or ".") for p in sys.path)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Ended]] = {}
        self._groups: dict[int, int] = {}  # the process groups of what runs
        self._cancelled = False
        self._numbers = iter(range(1, 1 << 62))
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    def run(
        self,
        *,
        folder: Path,
        log: Path,
        deadline_s: float,
        env: Mapping[str, str],
        call: str | None = None,
        argv: Sequence[str] = (),
        params: Mapping[str, Json] | None = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> Ended:
        """Do one request and wait for its end. Raises Lost when the server is gone."""
        request = {
            "folder": str(folder),
            "log": str(log),
            "deadline_s": deadline_s,
            "env": {**FIXED_ENV, **env},
            "path": self.path,
            "call": call,
            "argv": list(argv),
            "params": dict(params or {}),
            "inputs": list(inputs),
            "outputs": list(outputs),
        }
        future: Future[Ended] = Future()
        with self._lock:
            connection = self._started()
            number = next(self._numbers)
            self._waiting[number] = future
            try:
                connection.sendall(json.dumps({**request, "number": number}).encode() + b"\n")
            except OSError:
                self._waiting.pop(number, None)
                raise Lost("the server that runs actions has died") from None
        return future.result()

    def cancel(self) -> None:
        """End everything that runs, for good. Callable from a signal handler: it takes no lock."""
        self._cancelled = True
        self._end_server()

    def _end_server(self) -> None:
        process = self._process
        if process is not None:
            process.terminate()  # it takes along what it started

    def close(self) -> None:
        """End the server, and with it everything that still runs."""
        with self._lock:
            process, self._process = self._process, None
            if self._socket is not None:
                with suppress(OSError):  # it died just now
                    self._socket.shutdown(socket.SHUT_RDWR)
        if self._listener is not None:
            self._listener.join()
        if process is not None:
            process.wait()

    def _started(self) -> socket.socket:
        if self._socket is not None:
            return self._socket
        if self._process is not None:
            self._process.wait()  # it has died; what is left of it is its exit code
        ours, theirs = socket.socketpair()
        package_root = str(Path(__file__).resolve().parents[2])
        with theirs:
            environment = {**FIXED_ENV, "QNNBUILD_PATH": package_root}
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", START],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=environment,
                cwd="/",
                start_new_session=True,  # a terminal's Ctrl-C goes to the build, which decides
            )
        if self._cancelled:  # while there was no process yet to be ended
            self._end_server()
        ours.sendall(json.dumps({"path": self.path, "warm": self.warm}).encode() + b"\n")
        answers = ours.makefile("rb")
        try:
            first = _answer(answers.readline())
        except ConnectionError:
            first = {}
        if not first.get("ready"):
            answers.close()
            ours.close()
            self._process.wait()
            raise NotStarted(
                "the server that runs actions did not start",
                facts=[("it said", (first.get("why", "").strip().splitlines() or ["nothing"])[-1])],
                hint="qnnbuild doctor",
            )
        self._socket = ours
        self._listener = threading.Thread(target=self._listen, args=(ours, answers), daemon=True)
        self._listener.start()
        return ours

    def _listen(self, connection: socket.socket, answers: Any) -> None:
        with connection, answers, suppress(ConnectionError):  # an end like any other
            self._hear(answers)
        self._socket = None
        while self._groups:
            _, group = self._groups.popitem()
            with suppress(ProcessLookupError, PermissionError):  # it ended with the server
                os.killpg(group, signal.SIGKILL)
        while self._waiting:
            _, future = self._waiting.popitem()
            future.set_exception(Lost("the server that runs actions has died"))

    def _hear(self, answers: Any) -> None:
        for line in answers:
            answer = _answer(line)
            number = answer.pop("number", 0)
            if "group" in answer:
                self._groups[number] = answer["group"]
                continue
            self._groups.pop(number, None)
            future = self._waiting.pop(number, None)
            if future is None:
                continue
            if "lost" in answer:
                future.set_exception(Lost(answer["lost"]))
            else:
                future.set_result(Ended(**answer))


def _answer(line: bytes) -> dict[str, Any]:
    if not line:
        return {}
    found: dict[str, Any] = json.loads(line)
    return found
