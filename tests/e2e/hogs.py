"""A repo whose actions take memory and time as a test says: exports that tell when they ran."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.e2e.small_repo import Done, SmallRepo
from tests.models import scale_bytes

HOG = '''\
"""Takes memory, tells that it is there, and goes when it may. `plan.txt` says how."""
import os, pathlib, shutil, sys, time

here, name = pathlib.Path(sys.argv[1]), sys.argv[2]
plan = dict(line.split("=") for line in (here / "plan.txt").read_text().split())


def write(word):
    with (here / "log.txt").open("a") as log:
        log.write(f"{word} {name} {os.getpid()}\\n")


def begun():
    lines = [line.split() for line in (here / "log.txt").read_text().splitlines()]
    return [(who, pid) for word, who, pid in lines if word == "+"]


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit("it never came")
        time.sleep(0.02)


write("+")
held = bytearray(int(plan["megabytes"]) << 20)
held[::4096] = b"x" * len(held[::4096])
wait_for(lambda: len(begun()) >= int(plan["meet"]))
if "outlive" in plan and len(begun()) == 2:
    wait_for(lambda: not all(os.path.exists(f"/proc/{pid}") for who, pid in begun()))
shutil.copyfile(f"{name}.onnx", "m.onnx")
write("-")
'''
RECIPE = """\
model: {name}
license: MIT
source:
  export: {{run: [python, hog.py, "{here}", {name}], needs: [hog.py, {name}.onnx], makes: m.onnx}}
chips: [SM8750]
"""


@dataclass
class Hogs:
    repo: SmallRepo
    names: tuple[str, ...]

    @classmethod
    def make(cls, root: Path, count: int, floats: int = 4, **env: str) -> Hogs:
        """So many models, each with one export; what it makes has so many floats."""
        runtime = root / "runtime"  # other builds of this machine are nobody's neighbours here
        runtime.mkdir(parents=True)
        repo = SmallRepo.make(root / "repo", XDG_RUNTIME_DIR=str(runtime), **env)
        hogs = cls(repo, tuple(f"h{number}" for number in range(count)))
        for number, name in enumerate(hogs.names):
            repo.recipe(name, RECIPE.format(name=name, here=repo.root))
            model = scale_bytes(scale=float(number), size=floats)
            (repo.root / "recipes" / f"{name}.onnx").write_bytes(model)
        (repo.root / "recipes" / "hog.py").write_text(HOG)
        return hogs

    def build(self, *words: str, env: dict[str, str] | None = None, **plan: object) -> Done:
        """doit over all exports, and nothing else of the repo."""
        (self.repo.root / "log.txt").write_text("")
        told = {"megabytes": 1, "meet": 1, **plan}
        text = "\n".join(f"{name}={value}" for name, value in told.items())
        (self.repo.root / "plan.txt").write_text(text)
        return self.repo.doit(*words, "export/*", env=env)

    def log(self) -> list[str]:
        """What began and ended in the last build: `+ h0`, `- h0`."""
        lines = (self.repo.root / "log.txt").read_text().splitlines()
        return [line.rpartition(" ")[0] for line in lines]

    def most_at_once(self) -> int:
        now, most = 0, 0
        for line in self.log():
            now += 1 if line.startswith("+") else -1
            most = max(most, now)
        return most
