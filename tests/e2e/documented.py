"""What the commands of the pages find: files of a reader, a repo that was built, stand-ins."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from qnnbuild.work.npz import write_npz
from tests.documents import Block
from tests.e2e.small_repo import BIN, REPO, SmallRepo
from tests.graphs import model
from tests.models import scale_model, tiny_conv
from tests.signing import pem_keys

TIMEOUT_S = 300
MIGRATED = REPO / "tests" / "golden" / "migrate"
EMPTY = (
    *("README.md", "docs/tutorial.md", "docs/migrate.md"),
    *("docs/how-to/shape.md", "docs/how-to/sherpa.md"),
)
"""Pages that begin in an empty folder; all others begin in a copy of a repo that was built."""

RECIPES = {
    "tiny": "bundle: {archives: {context: 'tiny-{chip}'}}\nchips: [SM8750]",
    "silero-vad": 'context: {multi_soc: {phones: ["@phones"]}}\nchips: [SM8750, SM8850]',
    "encoder": "chips: [SM8750]",
}
TAGGER = """g (int64[batch, seq] ids) => (float[batch, seq, 8] y) {
  rows = Gather <axis = 0> (table, ids)
  minus = Neg (ids)
  float = Cast <to = 1> (minus)
  wide = Unsqueeze (float, last)
  y = Mul (rows, wide)
}"""
ADB = """#!/bin/sh
[ "$*" = "shell getprop ro.soc.model" ] || { echo "no phone: $*" >&2; exit 1; }
echo SM8750
"""
WORKFLOW = """\
jobs:
  build:
    steps:
    - run: |
        for soc in $SOCS; do
          qnn-onnx-converter --input_network model-$t-seconds.onnx --output_path model-$t.cpp
        done
"""


@dataclass
class Reader:
    """Somebody who does what one page says, from its top to its end."""

    home: Path
    env: dict[str, str]
    at: Path

    def does(self, command: str, below: str) -> tuple[int, str]:
        """The exit code, and all that is said; where a command went, the next one begins."""
        went = self.home.with_name("went")
        script = f"trap 'pwd >{shlex.quote(str(went))}' EXIT\n{command}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self._where(below), env=self.env,
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if not below:
            self.at = Path(went.read_text().strip())
        return done.returncode, done.stdout

    def writes(self, block: Block) -> None:
        path = self._where(block.marks.get("in", "")) / block.marks["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _where(self, below: str) -> Path:
        return self.home / below if below else self.at


def reader(page: str, folder: Path, built: SmallRepo) -> Reader:
    """One who has read nothing yet, with what lies in the folder where the page begins."""
    home, programs = folder / "home", folder / "bin"
    programs.mkdir(parents=True)
    if page in EMPTY:
        home.mkdir()
    else:
        shutil.copytree(built.root, home)
    _program(programs / "adb", ADB)
    fake = REPO / "tests" / "e2e" / "fake_gh.py"
    _program(programs / "gh", f'#!/bin/sh\nexec {sys.executable} {fake} "$@"\n')
    env = built.env | {
        "PATH": f"{programs}:{BIN}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONUNBUFFERED": "1",  # what is said comes in the order in which a terminal shows it
        "GH_TOKEN": "opens",
        "GH_ISSUES": str(folder / "issues.json"),
        "GITHUB_OUTPUT": str(folder / "output.txt"),
    }
    if page in FILES:
        FILES[page](home)
    return Reader(home, env, home)


def built_repo(folder: Path) -> SmallRepo:
    """Three small models, built and signed, with what pages name beside them."""
    repo = SmallRepo.make(folder / "repo", QNNBUILD_STORE=str(folder / "store"))
    key, public = pem_keys(repo.root, "ours")
    (repo.root / "key.pem").write_text(key)
    repo.model("tiny", scale_model(size=64))
    repo.model("silero-vad", scale_model(size=64))
    repo.model("encoder", tiny_conv())
    for name, more in RECIPES.items():
        text = f"model: {name}\nlicense: MIT\nsource: {{file: ../onnx/{name}.onnx}}\n{more}\n"
        repo.recipe(name, text)
    done = repo.qnnbuild("build", env={"QNNBUILD_SIGNING_KEY": key})
    assert done.code == 0, done.out + done.err
    shutil.copy(public, repo.root / "build" / "archives" / "tiny-SM8750")
    for night in ("last-week", "last-night", "tonight", "before", "after"):
        shutil.copytree(repo.root / "build", repo.root / night)
    _answers(repo.root / "build" / "encoder" / "SM8750")
    _committed(repo.root)
    return repo


def _committed(root: Path) -> None:
    """What was built is main, for pages that name a revision."""
    names = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "recipes", "onnx", "qnnbuild.yaml"),
        (*names, "commit", "--quiet", "--message", "built"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True, timeout=TIMEOUT_S)


def _answers(bundle: Path) -> None:
    """What run.py is asked for: inputs, and what the model answers."""
    encoder = onnx.load(bundle.parents[2] / "onnx" / "encoder.onnx")
    (given,), (made,) = encoder.graph.input, encoder.graph.output
    shape = [dimension.dim_value for dimension in given.type.tensor_type.shape.dim]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    answers: Any = ReferenceEvaluator(encoder).run([made.name], {given.name: x})
    for folder, name, array in (("samples", given.name, x), ("references", made.name, answers[0])):
        (bundle / folder).mkdir()
        write_npz(bundle / folder / "0.npz", {name: array})


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _own_model(home: Path) -> None:
    onnx.save(scale_model(size=64), home / "model.onnx")


def _tagger_of_own(home: Path) -> None:
    """Beside the repo, in which what is written would be a recipe more."""
    own = home.with_name("own")
    own.mkdir()
    _tagger(own)


def _tagger(home: Path) -> None:
    table = np.linspace(-1, 1, 240, dtype=np.float32).reshape(30, 8)
    made = model(TAGGER, table=table, last=np.array([2]))
    made.graph.node[1].name = "minus"
    onnx.save(made, home / "model.onnx")


def _sherpa(home: Path) -> None:
    shutil.copytree(REPO / "recipes" / "sherpa", home / "sherpa")
    _script(home)


def _script(home: Path) -> None:
    shutil.copy(MIGRATED / "sense-voice.sh", home / "build.sh")
    shutil.copy(MIGRATED / "whisper.yaml", home / "export-whisper-to-qnn.yaml")


FILES: Mapping[str, Callable[[Path], None]] = {
    "README.md": _own_model,
    "docs/how-to/shape.md": _tagger,
    "docs/how-to/sherpa.md": _sherpa,
    "docs/manual.md": _tagger_of_own,
    "docs/migrate.md": _script,
}
