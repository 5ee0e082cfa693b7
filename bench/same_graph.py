"""One graph of files for three programs: recipes for doit, build.ninja, and a Makefile."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from measuring import BIN, REPO, environment, run

sys.path.insert(0, str(REPO))

from fake_zoo import PAYLOAD, actions_of

from qnnbuild.actions.action import Action

PYPROJECT = """\
[tool.doit]
loader = "qnnbuild"

[tool.doit.plugins]
loader = {qnnbuild = "zoo_loader:ZooLoader"}
backend = {qnnbuild = "qnnbuild.bridge.db:Db"}

[tool.doit.plugins.command]
run = "qnnbuild.bridge.commands:Run"
list = "qnnbuild.bridge.commands:List"
info = "qnnbuild.bridge.commands:Info"
clean = "qnnbuild.bridge.commands:Clean"
forget = "qnnbuild.bridge.commands:Forget"
ignore = "qnnbuild.bridge.commands:Ignore"
"""
NINJA = "rule work\n  command = cat $in | tee $out > /dev/null\n"


class Repo:
    """`models` recipes with 4 + 3 × `chips` actions each; each program has files of its own.

    `payload` bytes are in each bundle of doit's, beside its manifest.
    """

    def __init__(self, top: Path, models: int, chips: int, payload: int = 0) -> None:
        self.top = top
        self.models = [f"m{number:03}" for number in range(models)]
        self.chips = [f"C{number}" for number in range(chips)]
        self.env = {**environment(REPO / "bench"), PAYLOAD: str(payload)}

    @property
    def size(self) -> int:
        return len(self.models) * (4 + 3 * len(self.chips))

    def write(self) -> None:
        self.top.mkdir(exist_ok=True)
        (self.top / "pyproject.toml").write_text(PYPROJECT)
        (self.top / "dodo.py").write_text('"""Plain doit builds everything."""\n')
        for folder in ("recipes", "sources"):
            (self.top / folder).mkdir()
        for number, model in enumerate(self.models):
            self.source(number).write_text(f"0\nthe contents of {model}\n")
            (self.top / "recipes" / f"{model}.yaml").write_text(
                f"model: {model}\nlicense: MIT\nsource: {{file: sources/{model}.txt}}\n"
                f"chips: [{', '.join(self.chips)}]\n"
            )
        (self.top / "build.ninja").write_text(NINJA + "\n".join(self._ninja()) + "\n")
        (self.top / "Makefile").write_text("\n".join(self._make()) + "\n")

    def source(self, number: int) -> Path:
        return self.top / "sources" / f"{self.models[number]}.txt"

    def _edges(self, folder: str) -> Iterable[tuple[list[str], list[str]]]:
        """What each action makes, and of what."""
        for model in self.models:
            for action in actions_of(model, self.chips):
                yield _outputs(action, folder), _inputs(action, folder, model)

    def _ninja(self) -> Iterable[str]:
        for outputs, inputs in self._edges("ninja"):
            yield f"build {' '.join(outputs)}: work {' '.join(inputs)}"

    def _make(self) -> Iterable[str]:
        """Folders are made beforehand: a process more for each rule would be make's loss."""
        made = [one for outputs, _ in self._edges("make") for one in outputs]
        for folder in {str(Path(one).parent) for one in made}:
            (self.top / folder).mkdir(parents=True, exist_ok=True)
        yield "MAKEFLAGS += -rR"  # it looks for no rule of its own, so it is quickest
        yield f".PHONY: all\nall: {' '.join(made)}"
        for outputs, inputs in self._edges("make"):
            yield f"{' '.join(outputs)} &: {' '.join(inputs)}"
            yield "\t@cat $^ | tee " + " ".join(outputs) + " > /dev/null"

    def seconds(self, *argv: str) -> float:
        return run(argv, self.top, self.env).seconds

    def doit(self, *words: str) -> float:
        return self.seconds(str(BIN / "doit"), *words)

    def gate(self) -> float:
        return self.seconds(str(BIN / "qnnbuild"), "build")

    def ninja(self) -> float:
        return self.seconds("ninja")

    def make(self) -> float:
        return self.seconds("make", "--silent")

    def settle(self) -> None:
        """A build shuts the gate when nothing changed and none of the times is fresh.

        What was written has reached the disk then: the kernel's own work on it would be measured.
        """
        for _ in range(2):
            time.sleep(0.1)
            self.doit()
        os.sync()


def _outputs(action: Action, folder: str) -> list[str]:
    outputs = [f"{folder}/{action.name}"]
    if action.lands:
        outputs.append(f"{folder}-build/{action.lands}/manifest.json")
    return outputs


def _inputs(action: Action, folder: str, model: str) -> list[str]:
    return [f"{folder}/{need}" for need in action.needs()] or [f"sources/{model}.txt"]
