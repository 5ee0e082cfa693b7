"""What tests ask of processes: which there are, whose children, and whether they live."""

from __future__ import annotations

import time
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process runs; a moment is given to the kernel to end it."""
    for _ in range(1500):
        if _stat(pid)[0] in ("", "Z"):
            return False
        time.sleep(0.02)
    return True


def children(parent: int) -> dict[str, int]:
    """The first words of their command lines → their numbers."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _stat(int(folder.name))[1] == str(parent):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            found[words[0].decode()] = int(folder.name)
    return found


def _stat(pid: int) -> tuple[str, str]:
    """State and parent; two empty texts when there is no such process."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    return state, parent


def parent(pid: int) -> int:
    return int(_stat(pid)[1])
