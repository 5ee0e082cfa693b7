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
from dataclasses import dataclass, field
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


def end_group(group: int) -> None:
    """Kill a run with all that it started, if it has begun and not ended by itself.

    To the kernel group 0 is the caller's own, and 1 every process that there is.
    """
    if group > 1:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


class Going:
    """What somebody else than the run's own thread needs to look at a run, or to stop it."""

    def __init__(self) -> None:
        self.pid = 0  # of its process group; 0 until it has begun
        self.was_stopped = False

    def begin(self, group: int) -> None:
        self.pid = group
        if self.was_stopped:
            self.stop()

    def stop(self) -> None:
        """End the run with all that it started, now or as soon as it has begun."""
        self.was_stopped = True
        end_group(self.pid)


class Lost(ToolError):
    """The server died; nothing can be said about the action."""


@dataclass(eq=False, kw_only=True)
class Connection:
    """The wire to one server, and what runs there: nothing of it is the next server's."""

    socket: socket.socket
    answers: Any
    waiting: dict[int, Future[Ended]] = field(default_factory=dict)
    going: dict[int, Going] = field(default_factory=dict)
    groups: dict[int, int] = field(default_factory=dict)  # the process groups of what runs

    def hear(self) -> None:
        """Hand out answers until there are no more."""
        for line in self.answers:
            answer = _answer(line)
            number = answer.pop("number", 0)
            if "group" in answer:
                self.groups[number] = answer["group"]
                self.going[number].begin(answer["group"])
                continue
            self.groups.pop(number, None)
            self.going.pop(number, Going()).pid = 0  # the number may be another process's soon
            if number not in self.waiting:
                continue
            # out of `waiting` last: what makes no sense must not leave anybody there for ever
            said = Lost(answer["lost"]) if "lost" in answer else Ended(**answer)
            future = self.waiting.pop(number)
            if isinstance(said, Lost):
                future.set_exception(said)
            else:
                future.set_result(said)

    def lose(self) -> None:
        """End what runs there; who waits for it hears that it is lost."""
        while self.groups:
            _, group = self.groups.popitem()
            end_group(group)
        while self.waiting:
            _, future = self.waiting.popitem()
            future.set_exception(Lost("the server that runs actions has died"))


class NotStarted(Lost):
    """The server would not start, and would not the next time."""


class Workers:
    """`warm` is a "module:function" that the server calls with the module of each action's call
    before it forks the action's child."""

    def __init__(self, warm: str = "", path: Sequence[str] = ()) -> None:
        self.warm = warm
        self.path = tuple(path) or tuple(os.path.abspath(p or ".") for p in sys.path)
        self._lock = threading.Lock()
        self._cancelled = False
        self._numbers = iter(range(1, 1 << 62))
        self._begun: socket.socket | None = None  # the wire to a server that nobody asked yet
        self._connection: Connection | None = None
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
        going: Going | None = None,
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
            connection.waiting[number] = future
            connection.going[number] = going or Going()
            try:
                line = json.dumps({**request, "number": number}).encode() + b"\n"
                connection.socket.sendall(line)
            except OSError:
                connection.waiting.pop(number, None)
                raise Lost("the server that runs actions has died") from None
        return future.result()

    @property
    def pid(self) -> int:
        """Of the server, whose children do all work; 0 before it was started."""
        process = self._process
        return process.pid if process is not None else 0

    def cancel(self) -> None:
        """End everything that runs, for good. Callable from a signal handler: it takes no lock."""
        self._cancelled = True
        self._end_server(self._process)

    def _end_server(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is not None:
            process.terminate()  # it takes along what it started

    def close(self) -> None:
        """End the server, and with it everything that still runs."""
        with self._lock:
            process, self._process = self._process, None
            if self._begun is not None:
                self._begun.close()
                self._begun = None
                self._end_server(process)
            if self._connection is not None:
                with suppress(OSError):  # it died just now
                    self._connection.socket.shutdown(socket.SHUT_RDWR)
        if self._listener is not None:
            self._listener.join()
        if process is not None:
            process.wait()

    def begin(self, soon: Sequence[str]) -> None:
        """Start the server and do not wait; it loads the modules `soon` while it has no work."""
        with self._lock:
            if self._process is None:
                self._begun = self._launched(soon)

    def _launched(self, soon: Sequence[str] = ()) -> socket.socket:
        ours, theirs = socket.socketpair()
        package_root = str(Path(__file__).resolve().parents[2])
        with theirs:
            environment = {**FIXED_ENV, "QNNBUILD_PATH": package_root}
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", START],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=environment,
                    cwd="/",
                    start_new_session=True,  # a terminal's Ctrl-C goes to the build, which decides
                )
            except OSError:
                ours.close()
                raise
        if self._cancelled:  # while there was no process yet to be ended
            self._end_server(self._process)
        first = {"path": self.path, "warm": self.warm, "soon": list(soon)}
        with suppress(BrokenPipeError):  # it has died: there is no answer, which is told then
            ours.sendall(json.dumps(first).encode() + b"\n")
        return ours

    def _started(self) -> Connection:
        if self._connection is not None:
            return self._connection
        ours, self._begun = self._begun, None
        process = self._process
        if ours is not None and process is not None and process.poll() is not None:
            ours.close()  # it died before anybody asked; the next one may tell why
            ours = None
        if ours is None:
            if process is not None:
                process.wait()  # it has died; what is left of it is its exit code
            ours = self._launched()
        assert self._process is not None, "it was launched, whoever did it"
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
        connection = self._connection = Connection(socket=ours, answers=answers)
        self._listener = threading.Thread(target=self._listen, args=(connection,), daemon=True)
        self._listener.start()
        return connection

    def _listen(self, connection: Connection) -> None:
        try:
            with connection.socket, connection.answers, suppress(ConnectionError):  # as any end
                connection.hear()
        finally:
            if self._connection is connection:
                self._connection = None
            connection.lose()


def _answer(line: bytes) -> dict[str, Any]:
    if not line:
        return {}
    found: dict[str, Any] = json.loads(line)
    return found
