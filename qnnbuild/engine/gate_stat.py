"""The gate's pass of stat: which of ten thousand files are not as they were, by two processes.

It imports as little as `glance` does, and for the same reason.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False  # as in glance
if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence
    from pathlib import Path

    Stamp = tuple[int, int, int, int]
    """In the order of STAMP."""

    Theirs = tuple[bytes, Sequence[array[int]], int]

STAMP = ("mtime_ns", "ctime_ns", "size", "inode")
"""mtime can be set back by anyone, ctime and inode cannot: together they tell a change."""

NONE = (-1, -1, -1, -1)
"""That a file is not there is something to rely on, too: a `chips.yaml` may appear."""

MUCH = 4000
"""Files from which a second process is worth its fork: 3 µs for each of them, 3 ms for that."""


def stamp(path: str | bytes | Path, folder: int | None = None) -> Stamp:
    """As it is now. `folder` is a descriptor, which relative paths begin at."""
    try:
        stat = os.stat(path, dir_fd=folder)
    except OSError:
        return NONE
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


def changed_of(paths: bytes, columns: Sequence[array[int]], root: str | Path) -> list[int]:
    """The numbers of the rows that are not as they were.

    `paths` has a NUL between any two, which are relative to `root` or absolute; `columns` are in
    the order of STAMP. Raises ValueError when there are not as many paths as rows.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if len(columns[0]) < MUCH or not _may_fork():
            return _changed(paths, columns, folder)
        return _by_two(paths, columns, folder)
    finally:
        os.close(folder)


def _by_two(paths: bytes, columns: Sequence[array[int]], folder: int) -> list[int]:
    cut = paths.rfind(b"\0", 0, len(paths) // 2)
    first = paths.count(b"\0", 0, cut) + 1 if cut >= 0 else 0
    theirs = (paths[cut + 1 :], [column[first:] for column in columns], folder)
    reading, writing = os.pipe()
    child = _forked(theirs, reading, writing)
    os.close(writing)
    if child is None:
        os.close(reading)
        return _changed(paths, columns, folder)
    try:
        found = _changed(paths[: max(cut, 0)], [column[:first] for column in columns], folder)
    finally:
        with open(reading, "rb") as pipe:
            said = pipe.read()
        well = _ended_well(child)
    others = marshal.loads(said) if well else _changed(*theirs)  # noqa: S302 - of our own child
    return found + [first + number for number in others]


def _forked(theirs: Theirs, reading: int, writing: int) -> int | None:
    """A child that tells what has changed of `theirs`; None where there is no room for one.

    Wherever a signal finds it, the child ends here: what stands above is the parent's.
    """
    parent = os.getpid()
    try:
        child = os.fork()
        if child == 0:
            os.close(reading)  # or it would wait for itself to read, were the other gone
            _tell(*theirs, writing)
    except OSError:  # no more processes, or no memory for one
        child = None
    finally:
        if os.getpid() != parent:
            os._exit(1)
    return child


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


def _tell(paths: bytes, columns: Sequence[array[int]], folder: int, writing: int) -> None:
    """In the child: all that it finds goes into the pipe, and it ends well."""
    told = marshal.dumps(_changed(paths, columns, folder))
    with open(writing, "wb") as pipe:
        pipe.write(told)
    os._exit(0)


def _changed(paths: bytes, columns: Sequence[array[int]], folder: int) -> list[int]:
    """Written out in full: it is all that a build of nothing does."""
    found = []
    stat = os.stat
    rows = zip(paths.split(b"\0") if paths else (), *columns, strict=True)
    for number, (path, mtime, ctime, size, inode) in enumerate(rows):
        try:
            seen = stat(path, dir_fd=folder)
        except OSError:
            if inode != -1:
                found.append(number)
            continue
        if (
            seen.st_ctime_ns != ctime
            or seen.st_mtime_ns != mtime
            or seen.st_size != size
            or seen.st_ino != inode
        ):
            found.append(number)
    return found
