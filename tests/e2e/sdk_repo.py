"""A repo of recipes for the stand-in of Qualcomm's SDK, and a model of two lengths."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.e2e.small_repo import REPO, Done, SmallRepo
from tests.standin.lay_out import NEW, OLD, lay_out, lay_out_ndk, missing_programs

CHIPS = "SM8450, SM8550, SM8750, SM8850"
RECIPE = """\
model: sense
license: Apache-2.0
toolchain: {toolchain}
chips: [{chips}]
variants: {{frames: [6, 10]}}
source: {{file: "../models/{{frames}}.onnx"}}
graphs:
  model:
    inputs: {{x: {{dtype: float32, layout: NTF}}, prompt: {{dtype: int32}}}}
    outputs: [logits]
    precision: w8a16
    calibration: {{random: 2}}
    options:
      qairt:
        library: {{targets: [aarch64-android]}}
        htp: {{hvx_threads: 4, perf_profile: burst}}
"""
SETTINGS = """\
toolchains:
  qairt-2.40:
    root: ${{SDK_240}}
    python: {python}
    ndk: {ndk}
  qairt-2.49:
    root: {new}
    python: {python}
"""


class SdkRepo(SmallRepo):
    """Two versions of the stand-in side by side."""

    old: Path
    new: Path

    def run(
        self, argv: Sequence[str], *, below: str = "", env: Mapping[str, str] | None = None
    ) -> Done:
        """The SDK's tools may end with a traceback, which is told then; our own code may not."""
        done = subprocess.run(
            argv, cwd=self.root / below, env={**self.env, **(env or {})}, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=self.timeout_s, check=False,
        )  # fmt: skip
        assert f'File "{REPO}' not in done.stderr + done.stdout, done.stderr + done.stdout
        return Done(done.returncode, done.stdout, done.stderr)

    def sense(self, *, toolchain: str = "qairt-2.40", chips: str = CHIPS) -> None:
        self.write("recipes/sense.yaml", RECIPE.format(toolchain=toolchain, chips=chips))

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def sdk_repo(folder: Path) -> SdkRepo:
    if missing := missing_programs():
        pytest.skip(f"model libraries are really compiled; not on this machine: {missing}")
    made = SmallRepo.make(folder / "repo", QNNBUILD_STORE=str(folder / "store"))
    repo = SdkRepo(made.root, made.env)
    repo.old, repo.new = lay_out(folder, OLD), lay_out(folder, NEW)
    repo.env["SDK_240"] = str(repo.old)
    ndk = lay_out_ndk(folder)
    repo.write("qnnbuild.yaml", SETTINGS.format(python=sys.executable, ndk=ndk, new=repo.new))
    for frames in (6, 10):
        path = repo.root / "models" / f"{frames}.onnx"
        path.parent.mkdir(exist_ok=True)
        save_model(path, frames)
    repo.sense()
    return repo


LAST_CALL = re.compile(r"^sys\.exit\(main\(sys\.argv\[1:\], (.*)\)\)$", re.MULTILINE)


@contextmanager
def spoilt(
    tool: Path,
    *,
    drop: Sequence[str] = (),
    add: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    first: str = "",
    last: str = "",
) -> Iterator[None]:
    """A tool that is told less (`drop`: a flag and its value) or more than it was, in another
    environment, or that does something before and after its own work; mended at the end.
    """
    text = tool.read_text()
    words = (
        "words, rest = [], sys.argv[1:]\n"
        "while rest:\n"
        f"    if rest[0] in {list(drop)!r}:\n"
        "        rest = rest[1 if len(rest) > 1 and rest[1].startswith('--') else 2 :]\n"
        "    else:\n"
        "        words.append(rest.pop(0))\n"
        f"words += {list(add)!r}\n"
    )
    call = f"{words}{first}\nended = main(words, \\1)\n{last}\nsys.exit(ended)"
    shebang, _, body = text.partition("\n")
    body = LAST_CALL.sub(call, body)
    assert "ended = main" in body
    tool.write_text(f"{shebang}\nimport os\nos.environ.update({dict(env or {})!r})\n{body}")
    try:
        yield
    finally:
        tool.write_text(text)


def save_model(path: Path, frames: int) -> None:
    """[1, frames, 8] and 8 numbers, added and multiplied."""
    weights = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["prompt"], ["floats"], name="cast", to=TensorProto.FLOAT),
            helper.make_node("Add", ["x", "floats"], ["sum"], name="add"),
            helper.make_node("MatMul", ["sum", "w"], ["logits"], name="/layer.0/MatMul"),
        ],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, frames, 8]),
            helper.make_tensor_value_info("prompt", TensorProto.INT32, [8]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, frames, 4])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
