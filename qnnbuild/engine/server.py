"""The warm server: one process that imports for all actions, and children forked from it.

Three processes, for the sake of equal bytes. The *keeper* speaks with the builds, enforces
deadlines and reaps; it imports nothing heavy. The *mould* imports what actions call, once for all
of them, and does nothing else but fork. A *child* reads one request, does it in its own process
group and ends.

All of them run without address randomisation and with one fixed environment: some compilers
leave parts of pointers in the padding of what they write (facts: of 21 models 3 did).

Nothing of this module runs in the build's own process; `workers` starts it.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.engine.freed_memory import keep_freed
from qnnbuild.engine.presses import Presses
from qnnbuild.work import press
from qnnbuild.work.run import Run, WorkError

ADDR_NO_RANDOMIZE, ASK = 0x0040000, 0xFFFFFFFF  # <sys/personality.h>
PR_SET_CHILD_SUBREAPER = 36  # <sys/prctl.h>
PR_SET_PDEATHSIG = 1
PRESS = b"press"
"""What the mould tells the keeper when compiles are to come."""

SESSIONS = "qnnbuild.work.ort_session"
"""Who imports this will ask a press."""

NAME = 1024
"""Bytes of a module's name; a longer one is none that could be imported before."""

Request = dict[str, Any]


def main(descriptor: int) -> None:
    """Entered with one end of a socket; the first line says what to import, and where from."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not libc.personality(ASK) & ADDR_NO_RANDOMIZE:
        libc.personality(ADDR_NO_RANDOMIZE)
        if libc.personality(ASK) & ADDR_NO_RANDOMIZE:  # containers may forbid it
            os.set_inheritable(descriptor, True)
            os.execve(sys.executable, sys.orig_argv, dict(os.environ))  # noqa: S606 - itself again
    talk = os.dup(descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), descriptor)  # 0 stays taken in every child
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    builds = socket.socket(fileno=talk)
    first = _line(builds)
    press_end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.path[:] = first["path"]
    presses = Presses(theirs)
    keeper_end, mould_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mould = os.fork()
    if mould == 0:
        builds.close()
        theirs.close()
        keeper_end.close()
        os.set_inheritable(press_end.fileno(), True)  # a program, too, may ask the press
        _mould(mould_end, first, press_end.fileno())
    mould_end.close()
    press_end.close()
    Keeper(builds, keeper_end, mould, presses).serve()


def _line(connection: socket.socket) -> Request:
    text = b""
    while not text.endswith(b"\n"):
        part = connection.recv(1)
        if not part:
            os._exit(0)
        text += part
    found: Request = json.loads(text)
    return found


def _function(entry: str) -> Any:
    """Of "package.module:function"."""
    module, _, function = entry.partition(":")
    return getattr(__import__(module, fromlist=[function]), function)


# --- the mould ------------------------------------------------------------------------------


def _mould(keeper: socket.socket, first: Request, pressed: int) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    keeper_pid = os.getppid()
    try:
        load = _function(first["warm"]) if first["warm"] else None
    except BaseException:  # noqa: BLE001 - whatever it was, the build tells it
        keeper.send(traceback.format_exc().encode()[-8000:])
        os._exit(1)
    keeper.send(b"warm")
    soon = list(first["soon"]) if load is not None else []
    while True:
        if soon and not select.select([keeper], [], [], 0)[0]:
            _load_ahead(keeper, load, soon.pop(0))
            continue
        module, descriptors, _, _ = socket.recv_fds(keeper, NAME, 1)
        if not descriptors:
            os._exit(0)
        if load is not None and module:
            with suppress(Exception):  # the child does it again, and has a log to tell it
                load(module.decode())
        with suppress(OSError):  # no room for a process: the keeper sees the socket's end closed
            # fork twice: the keeper becomes the child's parent and can wait for it
            between = os.fork()
            if between == 0:
                _between(keeper, keeper_pid, descriptors[0], pressed)
            os.waitpid(between, 0)
        os.close(descriptors[0])


def _load_ahead(keeper: socket.socket, load: Any, module: str) -> None:
    """While nobody asks for a child: the first that calls it need not wait then."""
    with suppress(Exception):  # the child does it again, and has a log to tell it
        load(module)
    if SESSIONS in sys.modules:
        keeper.send(PRESS)


def _between(keeper: socket.socket, keeper_pid: int, descriptor: int, pressed: int) -> None:
    try:
        if os.fork() == 0:
            keeper.close()
            # the signal is sent when the parent ends, and this one is about to
            _await_parent(keeper_pid)
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            _child(socket.socket(fileno=descriptor), pressed)
    finally:
        os._exit(0)  # an end like any program's waits for threads that a fork has not


def _await_parent(pid: int) -> None:
    """Return once the kernel has made `pid` the parent; end when that one is gone as well."""
    for _ in range(25_000):
        if os.getppid() == pid:
            return
        time.sleep(0.0002)
    os._exit(1)


# --- a child --------------------------------------------------------------------------------


def _child(connection: socket.socket, pressed: int) -> None:
    code = 70
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        connection.sendall(b"%d\n" % os.getpid())
        request = _line(connection)
        connection.close()
        request["env"][press.HANDED_OVER] = str(pressed)
        _enter(request)
        code = _program(request) if request["argv"] else _python(request)
    except BaseException:  # noqa: BLE001 - the log takes it, and the exit code is 70
        with suppress(OSError):
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # the disk is full
                stream.flush()
        os._exit(code)


def _enter(request: Request) -> None:
    os.chdir(request["folder"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(nothing)
    os.close(log)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[:] = request["path"]


def _program(request: Request) -> int:
    argv = request["argv"]
    try:
        os.execvpe(argv[0], argv, request["env"])  # noqa: S606 - argv is a list
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
    return 127


def _python(request: Request) -> int:
    work = _function(request["call"])
    run = Run(
        params=request["params"],
        inputs={name: Path("in", name) for name in request["inputs"]},
        outputs={name: Path("out", name) for name in request["outputs"]},
    )
    said: dict[str, Any] = {}
    keep_freed(run.inputs.values())
    try:
        work(run)
    except WorkError as error:
        said["error"] = {
            "message": error.message,
            "place": error.place,
            "facts": error.facts,
            "hint": error.hint,
            "exit_code": error.exit_code,
        }
    said["peak_bytes"] = run.peak_bytes
    said["warnings"] = [[notice.message, notice.place] for notice in run.warnings]
    Path("said.json").write_text(json.dumps(said), encoding="utf-8")
    return 1 if "error" in said else 0


# --- the keeper -----------------------------------------------------------------------------


@dataclass
class Going:
    number: int
    deadline: float
    late: bool = False


class Keeper:
    """Requests come in as lines of JSON; answers go out: {number, group}, {number, code, …}."""

    def __init__(
        self, builds: socket.socket, mould: socket.socket, mould_pid: int, presses: Presses
    ) -> None:
        self.builds = builds
        self.mould = mould
        self.mould_pid = mould_pid
        self.presses = presses
        self.going: dict[int, Going] = {}
        self.unread = b""

    def serve(self) -> None:
        self._answer_first()
        wakeup_read, wakeup_write = os.pipe()
        os.set_blocking(wakeup_write, False)
        signal.set_wakeup_fd(wakeup_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        while True:
            listening = [self.builds.fileno(), wakeup_read, self.mould.fileno()]
            listening += self.presses.listening
            ready, _, _ = select.select(listening, [], [], self._patience())
            if wakeup_read in ready:
                os.read(wakeup_read, 4096)
            self._reap()
            self._end_orphans()
            self._enforce_deadlines()
            if self.mould.fileno() in ready:
                self._hear_mould()
            if {*self.presses.listening} & {*ready}:
                self.presses.ready()
            if self.builds.fileno() in ready:
                self._read()

    def _answer_first(self) -> None:
        said = self.mould.recv(9000)
        self._send({"ready": said == b"warm", "why": said.decode(errors="replace")})

    def _hear_mould(self) -> None:
        with suppress(ConnectionError):  # its end is told by a signal as well
            if self.mould.recv(NAME) == PRESS:
                self.presses.ready()

    def _read(self) -> None:
        try:
            data = self.builds.recv(1 << 16)
        except ConnectionResetError:
            data = b""  # it was killed and had not read all that it was told
        if not data:
            self.end()
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            self._start(request, line)

    def _start(self, request: Request, line: bytes) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            try:
                module = (request["call"] or "-").partition(":")[0]
                socket.send_fds(self.mould, [module.encode()[:NAME]], [theirs.fileno()])
            except OSError:
                self._send({"number": request["number"], "lost": "the warm process is gone"})
                return
            theirs.close()
            pid = 0
            while (digit := ours.recv(1)).isdigit():
                pid = pid * 10 + int(digit)
            if not pid:
                self._send({"number": request["number"], "lost": "no child could be started"})
                return
            self.going[pid] = Going(request["number"], time.monotonic() + request["deadline_s"])
            self._send({"number": request["number"], "group": pid})
            with suppress(OSError):  # it was ended already, and is reaped like any other
                ours.sendall(line + b"\n")

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            going = self.going.pop(pid, None)
            if going is None:
                self._replace(pid)
                continue
            self._kill(pid)
            code = os.waitstatus_to_exitcode(status)
            self._send(
                {
                    "number": going.number,
                    "code": max(code, 0),
                    "signal": max(-code, 0),
                    "late": going.late,
                    "peak_bytes": usage.ru_maxrss * 1024,
                    "cpu_s": usage.ru_utime + usage.ru_stime,
                }
            )

    def _replace(self, pid: int) -> None:
        """The press is replaced here, the mould with all of us; else it was an orphan's end."""
        if pid == self.mould_pid:
            self.end()
        if pid == self.presses.pid:
            self.presses.lost()

    def _end_orphans(self) -> None:
        """What actions left running in sessions of their own. Whose it is nobody knows: so only
        when no action runs."""
        if self.going:
            return
        with suppress(OSError):  # kernels can be built without this file
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
            for pid in {*map(int, children.split())} - {self.mould_pid, self.presses.pid}:
                self._kill(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _enforce_deadlines(self) -> None:
        now = time.monotonic()
        for pid, going in self.going.items():
            if now >= going.deadline and not going.late:
                going.late = True
                self._kill(pid)

    def _patience(self) -> float | None:
        open_ = [going.deadline for going in self.going.values() if not going.late]
        return max(0.0, min(open_) - time.monotonic()) if open_ else None

    def _kill(self, pid: int) -> None:
        """The whole process group: what the child started ends with it."""
        with suppress(ProcessLookupError, PermissionError):  # it has ended, or not begun
            os.killpg(pid, signal.SIGKILL)

    def _send(self, answer: dict[str, Any]) -> None:
        try:
            self.builds.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            self.end()

    def end(self) -> None:
        """The build is gone, however it went: nothing of ours stays behind."""
        for pid in self.going:
            self._kill(pid)
        self.going.clear()
        self._end_orphans()
        os._exit(0)
