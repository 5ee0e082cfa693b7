"""How much memory there is for a build: the machine's, or what its control group leaves of it.

Everything is read from files of the kernel, below a folder that tests may choose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

MACHINE = "the machine"


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Sizes in bytes."""

    total: int
    available: int  # free, or freed by the kernel when somebody wants it
    limited_by: str = MACHINE  # or the control group whose limit is the narrowest
    stalled: float = 0.0  # percent of the last 10 s in which all waited for memory


class Meter:
    """Reads what there is at the moment. Which groups there are is looked up once."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def read(self) -> Memory:
        """Groups of version 1 and 2 count, with all groups around them."""
        found = _machine(self.root)
        for folder, version in self._groups:
            limit, used = _limit(folder, version), _used(folder, version)
            if limit is None or used is None or limit >= found.total:
                continue
            found = Memory(
                total=limit,
                available=max(0, min(found.available, limit - used)),
                limited_by=f"the control group {folder.relative_to(self.root)}",
                stalled=max(found.stalled, _stalled(folder / "memory.pressure")),
            )
        return found

    def kills(self) -> int:
        """How often the kernel has ended a process for want of memory, in this group or at all."""
        for folder, version in self._groups:
            name = "memory.events" if version == 2 else "memory.oom_control"
            found = _table(folder / name).get("oom_kill")
            if found is not None:
                return found
        return _table(self.root / "proc/vmstat").get("oom_kill", 0)

    @cached_property
    def _groups(self) -> list[tuple[Path, int]]:
        return list(_groups(self.root))


def used_by(pid: int, root: Path = Path("/")) -> int:
    """Bytes that a process and all its children hold for themselves; 0 when it is gone.

    What a fork has in common with its parent counts for both, as it does in a record's peak.
    """
    return sum(_own_bytes(root / f"proc/{one}") for one in _family(pid, root))


def _machine(root: Path) -> Memory:
    told = _table(root / "proc/meminfo", factor=1024)
    total = told.get("MemTotal:", 0)
    return Memory(
        total=total,
        available=told.get("MemAvailable:", total),
        stalled=_stalled(root / "proc/pressure/memory"),
    )


def _groups(root: Path) -> Iterator[tuple[Path, int]]:
    """The folders of the memory groups that this process is in, the innermost first."""
    mounts = dict(_mounts(root))
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        version = 1 if "memory" in controllers.split(",") else 0 if controllers else 2
        if version not in mounts:
            continue
        top, inside = mounts[version]
        # in a container the path may be the host's, where what is mounted is the group itself
        shown = PurePosixPath(path)
        below = shown.relative_to(inside) if shown.is_relative_to(inside) else PurePosixPath()
        for folder in (below, *below.parents):
            if (top / folder).is_dir() and ".." not in folder.parts:
                yield top / folder, version


def _mounts(root: Path) -> Iterator[tuple[int, tuple[Path, str]]]:
    """Version → where its groups are mounted, and which group is there."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        inside, place = before.split()[3:5]
        if kind == "cgroup2":
            yield 2, (root / place.lstrip("/"), inside)
        elif kind == "cgroup" and "memory" in options.split(","):
            yield 1, (root / place.lstrip("/"), inside)


def _limit(folder: Path, version: int) -> int | None:
    names = ("memory.max", "memory.high") if version == 2 else ("memory.limit_in_bytes",)
    found = [int(line) for name in names for line in _lines(folder / name) if line.isdigit()]
    return min(found, default=None)


def _used(folder: Path, version: int) -> int | None:
    """Without the pages of files that the kernel drops when somebody wants memory."""
    name = "memory.current" if version == 2 else "memory.usage_in_bytes"
    stat = _table(folder / "memory.stat")
    of_files = ("inactive_file", "active_file")
    if version == 1:
        of_files = ("total_inactive_file", "total_active_file")
    for line in _lines(folder / name):
        return max(0, int(line) - sum(stat.get(one, 0) for one in of_files))
    return None


def _stalled(file: Path) -> float:
    for line in _lines(file):
        if found := re.match(r"full avg10=([0-9.]+)", line):
            return float(found[1])
    return 0.0


def _family(pid: int, root: Path) -> Iterator[int]:
    """The process and all below it, as far as the kernel lists children."""
    yield pid
    threads = root / f"proc/{pid}/task"
    for thread in _names(threads):
        for line in _lines(threads / thread / "children"):
            for child in line.split():
                yield from _family(int(child), root)


def _own_bytes(folder: Path) -> int:
    told = _table(folder / "status", factor=1024)
    return told.get("RssAnon:", 0) + told.get("RssShmem:", 0)


def _table(file: Path, factor: int = 1) -> dict[str, int]:
    """Lines of a name and a number."""
    words = [line.split() for line in _lines(file)]
    return {w[0]: int(w[1]) * factor for w in words if len(w) > 1 and w[1].isdigit()}


def _names(folder: Path) -> list[str]:
    """What is in a folder; of a process that has ended meanwhile nothing."""
    with suppress(OSError):
        return os.listdir(folder)
    return []


def _lines(file: Path) -> list[str]:
    """None of a file that this kernel has not, or of a process that has ended meanwhile."""
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    return []
