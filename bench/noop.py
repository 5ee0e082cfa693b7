"""How long a build of nothing takes: plain `doit` against ninja on the same graph of files.

    python bench/noop.py [--models 200] [--chips 32] [--rounds 5]

Makes a repo of `models` recipes with (4 + 2 × chips + chips) actions each, builds it once with work
that writes one small file, and has ninja build the same graph. Then both are measured in turn in
one run: nothing changed, one source touched, one source edited. Prints medians and ratios.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
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
WRAPPER = (
    "from pathlib import Path; from qnnbuild.engine.gate import look; assert look(Path()).is_shut"
)


class Repo:
    def __init__(self, top: Path, models: int, chips: int) -> None:
        self.top = top
        self.models = models
        self.chips = chips
        path = os.pathsep.join([str(REPO), str(REPO / "bench")])
        self.env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
        for name in ("QNNBUILD_STORE", "PYTHONDONTWRITEBYTECODE"):
            self.env.pop(name, None)

    def write(self) -> None:
        (self.top / "pyproject.toml").write_text(PYPROJECT)
        (self.top / "dodo.py").write_text('"""Plain doit builds everything."""\n')
        for folder in ("recipes", "sources"):
            (self.top / folder).mkdir()
        for number in range(self.models):
            model = f"m{number:03}"
            self.source(number).write_text(f"0\nthe contents of {model}\n")
            (self.top / "recipes" / f"{model}.yaml").write_text(
                f"model: {model}\nlicense: MIT\nsource: {{file: sources/{model}.txt}}\n"
                f"chips: [{', '.join(f'C{c}' for c in range(self.chips))}]\n"
            )

    def source(self, number: int) -> Path:
        return self.top / "sources" / f"m{number:03}.txt"

    def write_ninja(self) -> int:
        """The same actions as edges, in their own copy of the sources; return how many."""
        sys.path[:0] = [str(REPO), str(REPO / "bench")]
        from fake_zoo import actions_of

        lines = ["rule work", "  command = cat $in | tee $out > /dev/null", ""]
        count = 0
        for number in range(self.models):
            model = f"m{number:03}"
            for action in actions_of(model, [f"C{c}" for c in range(self.chips)]):
                inputs = [f"ninja/{need}" for need in action.needs()] or [f"sources/{model}.txt"]
                outputs = [f"ninja/{action.name}"]
                if action.lands:
                    outputs.append(f"ninja-build/{action.lands}/manifest.json")
                lines.append(f"build {' '.join(outputs)}: work {' '.join(inputs)}")
                count += 1
        (self.top / "build.ninja").write_text("\n".join(lines) + "\n")
        return count

    def run(self, *argv: str) -> float:
        began = time.perf_counter()
        done = subprocess.run(
            argv, cwd=self.top, env=self.env, capture_output=True, text=True, check=False
        )
        took = time.perf_counter() - began
        if done.returncode:
            sys.exit(f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return took

    def doit(self, *words: str) -> float:
        return self.run(str(Path(sys.executable).with_name("doit")), *words)

    def ninja(self) -> float:
        return self.run("ninja")

    def wrapper(self) -> float:
        return self.run(sys.executable, "-c", WRAPPER)

    def settle(self) -> None:
        """A build shuts the gate when nothing changed and none of the times is fresh."""
        time.sleep(0.1)
        self.doit()
        time.sleep(0.1)
        self.doit()


def measure(repo: Repo, rounds: int) -> None:
    changes: dict[str, Callable[[int, int], None]] = {
        "nothing changed": lambda *_: None,
        "one source touched": lambda number, _: os.utime(repo.source(number)),
        "one source edited": lambda number, turn: _edit(repo.source(number), turn),
    }
    print(f"{'':24}{'ninja':>10}{'doit':>10}{'ratio':>8}")
    for name, change in changes.items():
        ninja, ours = [], []
        for turn in range(rounds):
            change(turn, turn + 1)
            ours.append(repo.doit())
            ninja.append(repo.ninja())
            repo.settle()
        show(name, ninja, ours)
    ninja = [repo.ninja() for _ in range(rounds)]
    show("gate without doit", ninja, [repo.wrapper() for _ in range(rounds)])
    show("one name", ninja, [repo.doit("bundle/m001@C1") for _ in range(rounds)])
    show("a pattern", ninja, [repo.doit("bundle/*@C1") for _ in range(rounds)])
    show("-n 2", ninja, [repo.doit("-n", "2") for _ in range(rounds)])
    show("list --all", ninja, [repo.doit("list", "--all") for _ in range(rounds)])


def _edit(path: Path, turn: int) -> None:
    """Another first line, which `prepare` drops: its chain runs, the chips' work does not."""
    _, _, rest = path.read_text().partition("\n")
    path.write_text(f"{turn}\n{rest}")


def show(name: str, ninja: list[float], ours: list[float]) -> None:
    theirs, own = statistics.median(ninja), statistics.median(ours)
    print(f"{name:24}{theirs:8.3f} s{own:8.3f} s{own / theirs:7.2f}×", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--chips", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="is made, used and kept; made before: used")
    asked = parser.parse_args()
    top = asked.folder or Path(tempfile.mkdtemp(prefix="noop-"))
    repo = Repo(top.resolve(), asked.models, asked.chips)
    try:
        if not (repo.top / "recipes").exists():
            repo.top.mkdir(exist_ok=True)
            repo.write()
        count = repo.write_ninja()
        print(f"{count:,} actions of {repo.models} models; first builds:", flush=True)
        print(f"  doit {repo.doit():.1f} s, ninja {repo.ninja():.1f} s", flush=True)
        time.sleep(0.1)
        print(f"  everything looked at again: {repo.doit():.1f} s", flush=True)
        repo.settle()
        measure(repo, asked.rounds)
    finally:
        if asked.folder is None:
            shutil.rmtree(top)


if __name__ == "__main__":
    main()
