"""A small repo of recipes, and qnnbuild and doit run in it as its users run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from tests.models import scale_model, tiny_conv

REPO = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
RAN = re.compile(r"^(?:made|cut off) (\S+) \(", re.MULTILINE)
TIMEOUT_S = 300


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def ran(self) -> list[str]:
        """The actions that a build ran, in the order in which they ended."""
        return RAN.findall(self.out)

    @property
    def summary(self) -> str:
        """The last line of a build, without its times."""
        return (self.out.splitlines() or [""])[-1].partition("; took")[0]


@dataclass
class SmallRepo:
    root: Path
    env: dict[str, str] = field(default_factory=dict)
    timeout_s: int = TIMEOUT_S

    @classmethod
    def make(cls, root: Path, **env: str) -> SmallRepo:
        """An empty repo with what `qnnbuild init` gives doit.

        Nothing is run on the emulator there: what that adds has tests of its own.
        """
        (root / "recipes").mkdir(parents=True)
        (root / "qnnbuild.yaml").write_text("defaults: {graph: {verify: {chips: none}}}\n")
        for name in ("doit.cfg", "dodo.py"):
            shutil.copy(REPO / "qnnbuild" / "starter" / name, root / name)
        known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return cls(root, known | {"PYTHONPATH": str(REPO), "COLUMNS": "100"} | env)

    def copy(self, root: Path, **env: str) -> SmallRepo:
        """The same sources in another folder; neither store nor build/."""
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns(".qnnbuild", "build"))
        return SmallRepo(root, self.env | env)

    def recipe(self, name: str, text: str) -> None:
        (self.root / "recipes" / f"{name}.yaml").write_text(text)

    def model(self, name: str, model: onnx.ModelProto) -> None:
        path = self.root / "onnx" / f"{name}.onnx"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(model.SerializeToString(deterministic=True))

    def qnnbuild(self, *words: str, below: str = "", env: Mapping[str, str] | None = None) -> Done:
        return self.run([str(BIN / "qnnbuild"), *words], below=below, env=env)

    def doit(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        return self.run([str(BIN / "doit"), *words], env=env)

    def run(
        self, argv: Sequence[str], *, below: str = "", env: Mapping[str, str] | None = None
    ) -> Done:
        """No command may end with a traceback, whatever its user did."""
        done = subprocess.run(
            argv, cwd=self.root / below, env={**self.env, **(env or {})}, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=self.timeout_s, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr + done.stdout, done.stderr + done.stdout
        if done.returncode:  # pytest shows it where a test did not expect that
            said = [" ".join(argv), f"exit {done.returncode}", done.stdout, done.stderr]
            sys.stdout.write("\n".join(["", *said]))
        return Done(done.returncode, done.stdout, done.stderr)

    def left_in_store(self) -> list[str]:
        """What unfinished actions left behind."""
        return sorted(path.name for path in (self.root / ".qnnbuild" / "tmp").iterdir())

    def files(self, folder: str = "build") -> dict[str, bytes]:
        """All but the report, which tells how long each build took."""
        top = self.root / folder
        return {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file() and path.name != "report.html"
        }


_PLACEHOLDERS: tuple[tuple[str, str], ...] = (
    (r"v2\.\d+\.\d+\.\d+", "BUILD"),
    (r"\b[0-9a-f]{64}\b", "SHA256"),
    (r'("SHA256",\s+)\d+', r"\1N"),
    (r"\b[0-9a-f]{2}/SHA256", "AB/SHA256"),
    (r"\b(?<!\.)(?=[0-9a-f]*[0-9])[0-9a-f]{16}\b", "DIGEST"),
    (r"\b(?<!\.)(?=[0-9a-f]*[0-9])[0-9a-f]{12}\b", "SHORT"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\+00:00|\.\d+)", "TIME"),
    (r"in [0-9.]+ s\b", "in N s"),
    (r"at most \d+ MB", "at most N MB"),
    (r'"(seconds|peak_bytes|size)": [0-9.]+', r'"\1": 0'),
    (r"\b(sqnr_db|max_abs|peak|cosine|differing)=[0-9.e+-]+", r"\1=N"),
    (r"\.cc:\d+", ".cc:LINE"),
    (r"\b[0-9,]+ (bytes|KB)\b", r"N \1"),
    (r"\b\d+\.\d+\.\d+ sha256:", "VERSION sha256:"),
    (r"cpython 3\.\d+\.\d+, glibc [0-9.]+", "cpython VERSION, glibc VERSION"),
    (r"cpython 3\.\d+", "cpython VERSION"),
    (r"_QNNExecutionProvider_\d+_", "_QNNExecutionProvider_NUMBER_"),
)


def told(done: Done, root: Path) -> str:
    """All that a command said, with placeholders for what differs from run to run."""
    text = f"[stdout]\n{done.out}[stderr]\n{done.err}[exit code] {done.code}\n"
    text = text.replace(str(root), "ROOT").replace(str(REPO), "QNNBUILD")
    for pattern, placeholder in _PLACEHOLDERS:
        text = re.sub(pattern, placeholder, text)
    return text


TINY = """\
model: tiny
description: Two small networks.
license: Apache-2.0
source: {file: "../onnx/{graph}.onnx"}
graphs:
  wide: {options: {ort: {vtcm_mb: 4}}}
  deep: {}
chips: [SM8550, SM8750]
"""
QUIET = """\
model: quiet
license: {spdx: LicenseRef-ours, redistribute: false}
variants: {size: [small]}
source: {file: "../onnx/{size}.onnx"}
chips: [SM8750]
"""


def tiny_repo(root: Path) -> SmallRepo:
    """Two models: one of two graphs for two chips, one that may not be published."""
    repo = SmallRepo.make(root)
    repo.model("wide", tiny_conv(8))
    repo.model("deep", tiny_conv(12))
    repo.model("small", scale_model(size=64))
    repo.recipe("tiny", TINY)
    repo.recipe("quiet", QUIET)
    return repo
