"""A repo for tests that run real doit as its users do, over a build that only counts itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
DOIT = str(Path(sys.executable).with_name("doit"))
SETTLE_S = 0.06

COMMANDS = ("run", "list", "info", "clean", "forget", "ignore")
PYPROJECT = """\
[tool.doit]
loader = "qnnbuild"

[tool.doit.plugins]
loader = {qnnbuild = "fake_loader:FakeLoader"}
backend = {qnnbuild = "qnnbuild.bridge.db:Db"}

[tool.doit.plugins.command]
""" + "".join(f'{name} = "qnnbuild.bridge.commands:{name.capitalize()}"\n' for name in COMMANDS)

M = {
    "fetch/m": {"reads": "m.txt"},
    "context/m@A": {"needs": ["fetch/m"]},
    "context/m@B": {"needs": ["fetch/m"]},
    "bundle/m@A": {"needs": ["context/m@A"]},
}
N = {"fetch/n": {"reads": "n.txt"}, "context/n@A": {"needs": ["fetch/n"]}}


@dataclass
class Repo:
    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def recipe(self, model: str, told: Any) -> None:
        (self.root / "recipes").mkdir(exist_ok=True)
        (self.root / "recipes" / f"{model}.yaml").write_text(json.dumps(told))

    def doit(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [DOIT, *words], cwd=self.root, env=self.env, text=True, capture_output=True, check=False
        )

    def ran(self) -> list[str]:
        """What ran since this was asked last."""
        return self._taken("ran.txt")

    def opened(self) -> list[str]:
        """What was planned since this was asked last."""
        return self._taken("opened.txt")

    def _taken(self, name: str) -> list[str]:
        path = self.root / name
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def settle(self) -> None:
        """Build until the gate is shut, and forget about it."""
        for _ in range(3):
            time.sleep(SETTLE_S)
            done = self.doit()
            assert done.returncode == 0, done.stdout + done.stderr
        self.ran()
        self.opened()


def make_repo(root: Path) -> Repo:
    """Two models, six actions."""
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env |= {"PYTHONPATH": f"{REPO}{os.pathsep}{Path(__file__).parent}", "COLUMNS": "100"}
    (root / "pyproject.toml").write_text(PYPROJECT)
    for name in ("m", "n"):
        (root / f"{name}.txt").write_text(name)
    made = Repo(root, env)
    made.recipe("m", M)
    made.recipe("n", N)
    return made


def without_times(text: str) -> str:
    """Durations differ from run to run."""
    words = [line.partition("; took")[0] for line in text.splitlines()]
    return "\n".join(words) + "\n"
