"""Small work for `qnnbuild doctor`: does this machine do what every build asks of it?"""

from __future__ import annotations

from pathlib import Path

from qnnbuild.work.run import Run


def addresses(run: Run) -> None:
    """Say whether this process was started without address randomisation."""
    personality = int(Path("/proc/self/personality").read_text(), 16)
    fixed = personality & 0x0040000
    (run.outputs["said"] / "text").write_text("fixed" if fixed else "addresses are random")
