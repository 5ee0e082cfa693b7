"""What the benchmarks share: a measured row, and a command's time and memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SECONDS, MB = "s", "MB"


@dataclass(frozen=True)
class Row:
    """One figure of ours, and what it is held against in the same run.

    `ours` and `theirs` are medians in `unit`; `limit` is the goal: a ratio where there are
    `theirs`, else a figure in `unit`; None where the row only tells.
    """

    part: str
    what: str
    size: int
    ours: float
    unit: str = SECONDS
    theirs: float | None = None
    against: str = ""
    limit: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None

    @property
    def holds(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.limit is None:
            return None
        return (self.ours if self.ratio is None else self.ratio) <= self.limit

    def __str__(self) -> str:
        line = f"{self.part:8} {self.size:7,} {self.what:28}{self.ours:9.3f} {self.unit:3}"
        if self.ratio is not None:
            line += f"{self.theirs:9.3f} {self.against:18}{self.ratio:6.2f}×"
        return line + ("" if self.holds is None else f"  goal {self.limit}: {self.holds}")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def tell(row: Row) -> Row:
    """Print it at once: a benchmark takes long, and can be stopped."""
    print(row, flush=True)
    return row


@dataclass(frozen=True)
class Took:
    seconds: float
    peak_mb: float
    """Of its largest process, in 10⁶ bytes."""

    said: str


def run(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Took:
    """Run a command to its end; one that fails ends the benchmark with what it said."""
    began = time.perf_counter()
    with subprocess.Popen(
        argv, cwd=cwd, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        assert running.stdout is not None
        said = running.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - began
    if running.returncode:
        sys.exit(f"{argv} ended with {running.returncode}:\n{said}")
    return Took(took, usage.ru_maxrss * 1024 / 1e6, said)


def environment(*paths: Path) -> dict[str, str]:
    """As a user has it, with this qnnbuild and without a store that others use."""
    path = os.pathsep.join(map(str, (REPO, *paths)))
    env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
    for name in ("QNNBUILD_STORE", "PYTHONDONTWRITEBYTECODE", "GITHUB_STEP_SUMMARY"):
        env.pop(name, None)
    return env


def medians(pairs: Sequence[tuple[float, ...]]) -> list[float]:
    """Of each column: what was measured in turns stands in one row for each turn."""
    return [statistics.median(column) for column in zip(*pairs, strict=True)]
