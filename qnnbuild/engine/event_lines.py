"""A file or pipe of events: one JSON object a line, each line by one write.

So whoever reads along sees whole lines, and of a build that was killed each line is whole; only
behind the last line end there can be a part of one.
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from qnnbuild.digest import Json
from qnnbuild.errors import Problem, RecipeError

STDOUT = "-"
DESCRIPTOR = re.compile(r"/dev/fd/(\d{1,6})|/proc/self/fd/(\d{1,6})")
HINT = "name a file in a folder that is there, - for stdout, or /dev/fd/3 for a descriptor"


def open_descriptor(where: str) -> int:
    """Raises RecipeError for what cannot be written to.

    /dev/fd/N is the descriptor that whoever started the build has opened: of a socket there is
    nothing that could be opened again.
    """
    descriptor = DESCRIPTOR.fullmatch(where)
    try:
        if where == STDOUT:
            return os.dup(1)
        if descriptor is not None:
            return os.dup(int(descriptor[1] or descriptor[2]))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        return os.open(where, flags, 0o666)
    except OSError as error:
        raise RecipeError(
            f"--json-events: events cannot be written to {where}: {error.strerror}", hint=HINT
        ) from error


class EventLines:
    """Safe between threads. What cannot be written any more is told once, and the build goes on."""

    def __init__(
        self,
        descriptor: int,
        *,
        tell: Callable[[Problem], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._descriptor = descriptor
        self._tell = tell
        self._clock = clock
        self._count = 0
        self._is_open = True
        self._lock = threading.Lock()

    def write(self, event: str, facts: Mapping[str, Json]) -> None:
        with self._lock:
            if not self._is_open:
                return
            self._count += 1
            now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
            told = {"event": event, "n": self._count, "time": now.replace("+00:00", "Z"), **facts}
            # ASCII: names of files may hold bytes that are no UTF-8
            line = json.dumps(told, ensure_ascii=True, separators=(",", ":")) + "\n"
            try:
                self._put(line.encode("ascii"))
            except OSError as error:
                self._end()
                problem = Problem(
                    message=f"no more events are written: {error.strerror or error}",
                    facts=(("the last", f"{event}, number {self._count}"),),
                    severity="warning",
                )
            else:
                return
        with suppress(OSError, ValueError):  # stderr may be gone with the reader
            self._tell(problem)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _put(self, line: bytes) -> None:
        """What is left of a line goes after it: a pipe takes what there is room for."""
        while line:
            try:
                line = line[os.write(self._descriptor, line) :]
            except BlockingIOError:  # whoever made the pipe wants no wait in it; we can
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()
            except OSError as error:
                if error.errno != errno.EINTR:
                    raise

    def _end(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._descriptor)
