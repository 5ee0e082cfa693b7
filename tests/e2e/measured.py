"""The collecting of samples, and how much memory it took."""

from __future__ import annotations

import re
from pathlib import Path

from qnnbuild.work.run import Run
from qnnbuild.work.samples_files import collect as collect_samples


def collect(run: Run) -> None:
    collect_samples(run)
    # of this process's own memory: rusage would count what it was forked from
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    Path("peak_kb").write_text(found, encoding="ascii")
