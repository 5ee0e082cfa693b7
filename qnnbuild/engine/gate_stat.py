"""The gate's pass of stat: what of ten thousand files is not as it was, by two processes."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping, Sequence

from qnnbuild.engine.gate_file import ABSENT, Group, Row

MUCH = 4000
"""Files from which a second process is worth its fork: 3 µs for each of them, 3 ms for that."""

Touched = Mapping[str, Mapping[bytes, Row]]
"""Of each group that is not as it was, the files that are not."""


def touched_of(groups: Sequence[Group], folder: int) -> Touched:
    """Paths are relative to `folder`, a descriptor."""
    if sum(len(group.paths) for group in groups) < MUCH or not _may_fork():
        return _touched(groups, folder)
    ours, theirs = _halves(groups)
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no more processes, or no memory for one
        os.close(reading)
        os.close(writing)
        return _touched(groups, folder)
    if child == 0:
        os.close(reading)  # or it would wait for itself to read, were the other gone
        _tell(theirs, folder, writing)
    os.close(writing)
    found = dict(_touched(ours, folder))
    with open(reading, "rb") as pipe:
        said = pipe.read()
    if not _ended_well(child):
        return found | dict(_touched(theirs, folder))
    told = marshal.loads(said)  # noqa: S302 - of our own child
    return found | {
        name: {path: Row._make(row) for path, row in different.items()}
        for name, different in told.items()
    }


def _ended_well(child: int) -> bool:
    """False, too, where nobody can tell: who ignores SIGCHLD has no children to wait for."""
    try:
        _, status = os.waitpid(child, 0)
    except ChildProcessError:
        return False
    return status == 0


def _may_fork() -> bool:
    """There is a core for it, and no thread whose locks a fork would leave taken."""
    threading = sys.modules.get("threading")
    alone = threading is None or threading.active_count() == 1
    return alone and len(os.sched_getaffinity(0)) > 1


def _halves(groups: Sequence[Group]) -> tuple[Sequence[Group], Sequence[Group]]:
    half, count, place = sum(len(group.paths) for group in groups) // 2, 0, 0
    while count < half:
        count += len(groups[place].paths)
        place += 1
    return groups[:place], groups[place:]


def _tell(groups: Sequence[Group], folder: int, writing: int) -> None:
    """In the child: all that it finds goes into the pipe, or its status says that it does not."""
    status = 1
    try:
        told = {
            name: {path: tuple(row) for path, row in different.items()}
            for name, different in _touched(groups, folder).items()
        }
        with open(writing, "wb") as pipe:
            pipe.write(marshal.dumps(told))
        status = 0
    finally:
        os._exit(status)


def _touched(groups: Sequence[Group], folder: int) -> Touched:
    found = ((group.name, _different(group, folder)) for group in groups)
    return {name: different for name, different in found if different}


def _different(group: Group, folder: int) -> dict[bytes, Row]:
    """What is not as it was. Written out in full: it is all that a build of nothing does."""
    found = {}
    stat = os.stat
    for path, mtime, ctime, size, inode in zip(group.paths, *group.columns, strict=True):
        try:
            seen = stat(path, dir_fd=folder)
        except OSError:
            if inode != -1:
                found[path] = ABSENT
            continue
        if (
            seen.st_ctime_ns != ctime
            or seen.st_mtime_ns != mtime
            or seen.st_size != size
            or seen.st_ino != inode
        ):
            found[path] = Row(seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)
    return found
