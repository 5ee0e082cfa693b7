"""The press: a process whose memory is the same each time, from which every compile is forked.

The compiler's bytes depend on what lies beside its data: libQnnHtp reads past the end of blocks
(`extract_tile_vmemu_u16`, seen with valgrind) and writes padding that it never filled
(`fa::FancyAllocator`). So a compile must find the same heap, whatever ran before, in whatever
folder, with Python wherever it is installed. Hence:

- this file is run as a program of its own that imports nothing but the runtime; nothing of a
  request is read before the fork;
- everything that has a path is an open descriptor with a fixed number: the interpreter, its
  library, the packages, the program. Paths are then /proc/self/fd/N on every machine;
- the environment and the command line are constant; addresses are not randomised (the parent
  has seen to it); glibc fills memory that it hands out, without thread caches, and keeps what is
  freed, since a kernel takes its time to clear the pages that it hands out again;
- nothing else runs in it: ONNX Runtime's telemetry has a thread that allocates after ten seconds.

`ask` is the other side: any process that inherited the press's socket can have a session made.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SOCKET, BASE, PROGRAM, INTERPRETER, PACKAGES = 50, 51, 52, 53, 54
"""Fixed numbers of descriptors; packages take one each from PACKAGES on."""

NEEDED = ("onnxruntime", "onnxruntime_qnn", "numpy")
PROVIDER = "QNNExecutionProvider"
TUNABLES = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (
        ("perturb", 165),
        ("tcache_count", 0),
        ("mmap_max", 0),
        ("trim_threshold", 1 << 40),
    )
)
ENV = {
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONHOME": f"/proc/self/fd/{BASE}",
    "GLIBC_TUNABLES": TUNABLES,
}
ARGV = ["python", "-S", "-P", f"/proc/self/fd/{PROGRAM}"]
REHEARSALS = 20
MOST_BYTES = 1 << 17  # of a request or an answer
PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
PTRACE_TRACEME, PTRACE_DETACH = 0, 17  # <sys/ptrace.h>
AT_RANDOM = 25  # <elf.h>
HANDED_OVER = "QNNBUILD_PRESS"
"""The environment variable with the number of the press's socket."""


def start(connection: int) -> int:
    """Fork a press; `connection` is its end of a SOCK_SEQPACKET pair. Gives 0 when it cannot be."""
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            for number in (signal.SIGINT, signal.SIGHUP):  # a later one begins as the first did
                signal.signal(number, signal.SIG_DFL)
            become(connection)
        finally:
            os._exit(3)
    return pid if settle(pid) else 0


def become(connection: int) -> None:
    """Turn this process into the press; `connection` is its end of a SOCK_SEQPACKET pair."""
    import importlib.util

    folders = []
    for name in NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            os._exit(3)  # without the runtime nothing can be asked of the press
        folders.append(_at_a_constant_place(Path(spec.origin).parent))
    wanted = {SOCKET: os.dup(connection), BASE: os.open(sys.base_prefix, os.O_PATH)}
    wanted[PROGRAM] = os.open(__file__, os.O_RDONLY)
    wanted[INTERPRETER] = os.open(os.path.realpath(sys.executable), os.O_RDONLY)
    for number, folder in enumerate(folders, PACKAGES):
        wanted[number] = os.open(folder, os.O_PATH)
    for number, descriptor in wanted.items():
        os.dup2(descriptor, number, inheritable=True)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # Python asks what they are: a file, a pipe, a terminal differ
        os.dup2(nothing, number)
    os.chdir("/")
    if ctypes.CDLL(None).ptrace(PTRACE_TRACEME, 0, None, None) != 0:
        os.kill(os.getpid(), signal.SIGSTOP)  # `settle` waits for a stop of one kind or the other
    os.execve(f"/proc/self/fd/{INTERPRETER}", ARGV, ENV)  # noqa: S606 - no shell


def _at_a_constant_place(package: Path) -> Path:
    """A folder with `package` in it whose own path is equally long on every machine.

    The runtime asks for real paths of its libraries and keeps them on the heap, in front of all
    that a compile allocates: magika's bytes showed how long they are. Files are linked, or copied
    where a link cannot be; the folder is this user's alone, and what is in it is compared before
    it is believed.
    """
    import hashlib  # here: the press itself imports as little as it can

    top = package.parent
    parts = (package, top / f"{package.name}.libs")  # the second has what the first links to
    found = (p.relative_to(top) for part in parts for p in part.rglob("*") if p.is_file())
    files = sorted(file for file in found if "__pycache__" not in file.parts)
    stats = [(file, (top / file).stat()) for file in files]
    sizes = "".join(f"{file} {s.st_size} {s.st_mtime_ns}\n" for file, s in stats)
    name = hashlib.sha256(sizes.encode()).hexdigest()[:16]
    for number in range(10):
        place = Path(f"/tmp/qnnbuild-{name}-{number}")  # noqa: S108 - compared below
        try:
            if not place.exists():
                _fill(place, top, files)
            if _is_ours(place, top, files):
                return place
        except OSError:
            continue  # somebody else's, or no room: another number, or where it lies
    return top


def _fill(place: Path, top: Path, files: Sequence[Path]) -> None:
    """Made beside and renamed: who comes second finds it whole."""
    import shutil
    import tempfile

    beside = Path(tempfile.mkdtemp(prefix=".qnnbuild-", dir=place.parent))
    try:
        for file in files:
            to = beside / file
            to.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(top / file, to)
            except OSError:
                shutil.copy2(top / file, to)
        beside.rename(place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _is_ours(place: Path, top: Path, files: Sequence[Path]) -> bool:
    owner = place.stat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
        return False
    for file in files:
        there, here = (place / file).stat(), (top / file).stat()
        if there.st_ino == here.st_ino and there.st_dev == here.st_dev:
            continue
        if (there.st_size, there.st_mtime_ns) != (here.st_size, here.st_mtime_ns):
            return False
    return True


def settle(pid: int) -> bool:
    """Whether `pid` becomes the press; takes away the kernel's random bytes for a new program.

    The C library makes the guards of its stack frames from them, old frames keep those, and the
    compiler reads what old frames left (`GraphPrepare::try_reduce_const`): one start in ten was
    another one. Where tracing is forbidden the press works all the same, with that chance.
    """
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return False
    if os.WSTOPSIG(status) == signal.SIGSTOP:
        os.kill(pid, signal.SIGCONT)
        return True
    try:
        pairs = dict(struct.iter_unpack("QQ", Path(f"/proc/{pid}/auxv").read_bytes()))
        with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
            memory.seek(pairs[AT_RANDOM])
            memory.write(b"qnnbuild's press")
    except OSError:  # a kernel that guards memory even from a tracer
        pass
    finally:
        ctypes.CDLL(None).ptrace(PTRACE_DETACH, pid, None, None)
    return True


# --- the press itself -------------------------------------------------------------------------


def main() -> None:
    """Load the runtime, wait for work and fork. Who starts a press knows that work is to come."""
    for number in range(3, 256):
        if not SOCKET <= number < PACKAGES + len(NEEDED):
            try:
                os.close(number)
            except OSError:
                continue
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the watchers
    connection = socket.socket(fileno=SOCKET)
    gc.disable()  # or it would come now and then, in the middle of what must be the same each time
    _load()
    _rehearse()
    while True:
        _serve(connection)


def _rehearse() -> None:
    """Serve nobody a few times: the first times leave in memory what later ones find there."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for _ in range(REHEARSALS):
        answer, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(ours, [b"x"], [answer.fileno(), 0, 1])
        answer.close()
        other.close()
        _serve(theirs)
    ours.close()
    theirs.close()


def _serve(connection: socket.socket) -> None:
    message, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    if not message:
        os._exit(0)
    try:
        watcher = os.fork()
    except OSError:  # no room for a process: whoever asked sees its answer's end closed
        watcher = -1
    if watcher == 0:
        try:
            _watch(*descriptors)
        finally:
            os._exit(0)  # an end like any program's waits for threads that a fork has not
    for descriptor in descriptors:
        os.close(descriptor)


def _load() -> None:
    """Import the runtime by its place alone: a search would read whole folders into memory."""
    import importlib.util

    class ByPlace:
        @staticmethod
        def find_spec(name: str, *_: object) -> Any:
            if name not in NEEDED:
                return None
            folder = f"/proc/self/fd/{PACKAGES + NEEDED.index(name)}/{name}"
            return importlib.util.spec_from_file_location(
                name, f"{folder}/__init__.py", submodule_search_locations=[folder]
            )

    sys.meta_path.insert(0, ByPlace)
    import onnxruntime  # noqa: F401
    import onnxruntime_qnn

    ctypes.CDLL(onnxruntime_qnn.get_qnn_htp_path())


def _watch(answer: int, folder: int, log: int) -> None:
    """Fork the worker, wait for its end or for whoever asked to be gone, and tell how it went."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    said, says = os.pipe()
    worker = os.fork()
    if worker == 0:
        _work(answer, folder, log, says)
    os.close(says)
    either = select.poll()
    either.register(said, select.POLLIN)  # its other end is open as long as the worker lives
    either.register(answer, 0)  # only that the other side is gone; its request is the worker's
    if said not in dict(either.poll()):
        os.kill(worker, signal.SIGKILL)  # nobody waits for it any more
    _, status, usage = os.wait4(worker, 0)
    with os.fdopen(said, "rb") as pipe:
        error = pipe.read(MOST_BYTES // 2).decode("utf-8", "replace")
    crash = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
    told = {"error": error, "crash": crash, "peak_bytes": usage.ru_maxrss * 1024}
    socket.socket(fileno=answer).send(json.dumps(told).encode())


def _work(answer: int, folder: int, log: int, says: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        request = json.loads(os.read(answer, MOST_BYTES))
        os.fchdir(folder)
        os.dup2(log, 1)
        os.dup2(log, 2)
        create_sessions(request)
    except BaseException as error:  # noqa: BLE001  # whoever asked tells it
        os.write(says, (str(error) or type(error).__name__).encode()[: MOST_BYTES // 2])
    finally:
        os._exit(0)


def create_sessions(request: Mapping[str, Any]) -> None:
    """Create a session of ONNX Runtime with the QNN plugin, as a plain script would.

    Or those that stand under "in_turn", one after the other; all of them live to the end.
    """
    import onnxruntime
    import onnxruntime_qnn

    os.environ.update(request.get("environment", {}))  # the plugin reads it as it is registered
    library = onnxruntime_qnn.get_library_path()
    onnxruntime.register_execution_provider_library(PROVIDER, library)
    devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == PROVIDER]
    asked, made = request.get("in_turn", (request,)), []
    for one in asked:
        session = onnxruntime.SessionOptions()
        session.log_severity_level = one["severity"]
        session.add_session_config_entry("session.intra_op.allow_spinning", "0")
        for key, value in one["entries"].items():
            session.add_session_config_entry(key, value)
        session.add_provider_for_devices(devices, dict(one["options"]))
        made.append(onnxruntime.InferenceSession(one["model"], session))
    for one, session in zip(asked, made, strict=True):
        if one.get("feeds"):
            _answer(session, one["feeds"], one["answers"])


def _answer(session: Any, feeds: str, answers: str) -> None:
    """Arrays by position, since an input's name may be no name of a file."""
    import numpy as np

    session.disable_fallback()
    with np.load(feeds) as arrays:
        fed = {one.name: arrays[f"arr_{n}"] for n, one in enumerate(session.get_inputs())}
    np.savez(answers, *session.run(None, fed))


# --- the other side ---------------------------------------------------------------------------


def ask(press: int, request: Mapping[str, Any], folder: str, log: str) -> dict[str, Any]:
    """Have a session created in `folder`; what it prints goes to `log`.

    Gives {error, crash, peak_bytes}: the runtime's words or "", a signal's name or None, bytes.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    into = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with ours:
        connection = socket.socket(fileno=os.dup(press))
        with connection, theirs:
            ours.send(json.dumps(request, sort_keys=True).encode())
            try:
                socket.send_fds(connection, [b"x"], [theirs.fileno(), into, out])
            except OSError:
                ours.shutdown(socket.SHUT_RD)  # the press is gone; what is told below is nothing
        os.close(into)
        os.close(out)
        try:
            told = ours.recv(MOST_BYTES)
        except ConnectionResetError:  # it died before it took the request
            told = b""
    if not told:
        return {"error": "the process that compiles has died", "crash": None, "peak_bytes": 0}
    answer: dict[str, Any] = json.loads(told)
    return answer


if __name__ == "__main__":
    main()
