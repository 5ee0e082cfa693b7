"""How long a first build takes, against loops that start a fresh process for each step.

    python bench/cold.py [--rounds 3] [--at-once 2]

The loops are what people write by hand, with `xargs -P` over all graphs and chips, and Python
scripts of fifteen lines that open one session of ONNX Runtime's plugin. One loop does what a build
does: onnxsim with its check for each model, and for each chip a compile, a second session that
loads what was compiled, and a folder with checksums. The other one only compiles. Neither hashes
tools, records, writes manifests, or is of any help the next time. What the sessions of the second
loop take, all else of its processes left out, is told too: no build that compiles is below it.
Small models: a dozen of a few kilobytes. Large ones: one of 200 MB of weights. Turns change the
order. Each begins in a folder of its own with an empty store, and what the turns before have made
stays there, but for large files: ext4 looks at each inode that was freed within the last minute
before it makes a file, and whoever builds for the first time has removed no thousand files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from measuring import BIN, REPO, Row, environment, medians, run, tell
from onnx import TensorProto, helper

PART = "cold"
STEPS = "loop of the same steps"
COMPILES = "loop of compiles alone"
SESSIONS = "the compiler's own time in it"
LARGE = 1_000_000
STARTER = REPO / "qnnbuild" / "starter"
CHIPS = {"SM8550": "43", "SM8650": "57", "SM8750": "69", "SM8850": "87"}
SCRIPT = '''\
"""python compile.py MODEL.onnx SOC_MODEL FOLDER"""
import os, sys, time
import onnxruntime, onnxruntime_qnn

model, chip, folder = sys.argv[1:]
compiles = not model.endswith("_ctx.onnx")
if compiles:
    os.makedirs(folder, exist_ok=True)
name = "QNNExecutionProvider"
onnxruntime.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
session = onnxruntime.SessionOptions()
if compiles:
    session.add_session_config_entry("ep.context_enable", "1")
    session.add_session_config_entry("ep.context_file_path", os.path.join(folder, "model_ctx.onnx"))
    session.add_session_config_entry("ep.context_embed_mode", "0")
session.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
session.add_provider_for_devices(devices, {"backend_type": "htp", "soc_model": chip})
began = time.perf_counter()
onnxruntime.InferenceSession(model, session)
if compiles:
    with open(os.path.join(folder, "seconds"), "w") as file:
        file.write(str(time.perf_counter() - began))
'''
RECIPE = """\
model: {name}
license: MIT
source: {{file: ../onnx/{name}.onnx}}
chips: [{chips}]
graphs:
  main: {{precision: fp16}}
"""


@dataclass(frozen=True)
class Kind:
    """Models that are built together; `limit` is the goal of the ratio to the loop."""

    what: str
    count: int
    width: int
    layers: int
    limit: float


KINDS = (
    Kind("12 small models × 4 chips", 12, 16, 6, 0.5),
    Kind("a model of 200 MB × 4 chips", 1, 2048, 12, 1.0),
)


def network(width: int, layers: int, seed: int) -> onnx.ModelProto:
    """x: float32 [1, width] → MatMul and Relu, again and again."""
    random = np.random.default_rng(seed)
    nodes, weights, last = [], [], "x"
    for layer in range(layers):
        values = random.standard_normal((width, width), dtype=np.float32) / np.float32(width**0.5)
        weights.append(onnx.numpy_helper.from_array(values, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{layer}"], [f"p{layer}"]))
        nodes.append(helper.make_node("Relu", [f"p{layer}"], [f"r{layer}"]))
        last = f"r{layer}"
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])] for name in ("x", last)
    )
    graph = helper.make_graph(nodes, "main", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def models(folder: Path, kind: Kind) -> list[Path]:
    folder.mkdir()
    files = [folder / f"m{number:02}.onnx" for number in range(kind.count)]
    for seed, file in enumerate(files):
        onnx.save(network(kind.width, kind.layers, seed), str(file))
    return files


class Repo:
    def __init__(self, top: Path, files: Sequence[Path], at_once: int) -> None:
        self.top = top
        self.at_once = str(at_once)
        self.sessions = 0.0  # seconds on all cores that the compiles themselves took
        self.env = environment()
        self.names = [file.stem for file in files]
        for folder in ("onnx", "recipes"):
            (top / folder).mkdir(parents=True)
        for name in ("doit.cfg", "dodo.py"):
            shutil.copy(STARTER / name, top / name)
        # what runs on the emulator is no part of a loop that compiles
        (top / "qnnbuild.yaml").write_text("defaults: {graph: {verify: {chips: none}}}\n")
        (top / "compile.py").write_text(SCRIPT)
        shutil.copy(REPO / "LICENSE", top / "LICENSE")
        for file in files:
            os.link(file, top / "onnx" / file.name)
            text = RECIPE.format(name=file.stem, chips=", ".join(CHIPS))
            (top / "recipes" / f"{file.stem}.yaml").write_text(text)

    def build(self) -> float:
        """From an empty store to all bundles."""
        took = run([str(BIN / "doit"), "-n", self.at_once], self.top, self.env).seconds
        assert self._binaries("build") == len(self.names) * len(CHIPS)
        return took

    def compiles(self) -> float:
        """The compiles alone, each a process."""
        took = self._all(
            f"{sys.executable} compile.py onnx/{name}.onnx {soc} loop/{name}/{chip}"
            for name in self.names
            for chip, soc in CHIPS.items()
        )
        assert self._binaries("loop") == len(self.names) * len(CHIPS)
        found = (self.top / "loop").rglob("seconds")
        self.sessions = sum(float(path.read_text()) for path in found) / int(self.at_once)
        return took

    def steps(self) -> float:
        """What a build does, each step a process."""
        (self.top / "simple").mkdir()
        took = self._all(
            f"{BIN / 'onnxsim'} onnx/{name}.onnx simple/{name}.onnx 1" for name in self.names
        )
        took += self._all(
            f"{sys.executable} compile.py simple/{name}.onnx {soc} loop/{name}/{chip}"
            f" && {sys.executable} compile.py loop/{name}/{chip}/model_ctx.onnx {soc} -"
            f" && cp LICENSE loop/{name}/{chip}/"
            f" && cd loop/{name}/{chip} && sha256sum * > SHA256SUMS"
            for name in self.names
            for chip, soc in CHIPS.items()
        )
        assert len(list((self.top / "loop").rglob("SHA256SUMS"))) == len(self.names) * len(CHIPS)
        return took

    def drop_large(self) -> None:
        """The page cache is for the next turn. The models themselves stay: these are links."""
        for path in self.top.rglob("*"):
            if path.is_file() and path.stat().st_size > LARGE:
                path.unlink()

    def _all(self, commands: Iterable[str]) -> float:
        """The seconds that all of them take, so many at once."""
        (self.top / "lines").write_bytes(b"".join(one.encode() + b"\0" for one in commands))
        words = ["xargs", "-0", "-P", self.at_once, "-n", "1", "-a", "lines", "sh", "-c"]
        # xargs puts each command behind -c
        return run(words, self.top, self.env).seconds

    def _binaries(self, folder: str) -> int:
        return len(list((self.top / folder).rglob("*.bin")))


def rows(top: Path, kinds: Sequence[Kind], rounds: int, at_once: int) -> Iterator[Row]:
    ways = (Repo.build, Repo.steps, Repo.compiles)
    for number, kind in enumerate(kinds):
        files = models(top / f"models-{number}", kind)
        turns = []
        for turn in range(rounds):
            took, sessions = {}, 0.0
            for way in ways if turn % 2 == 0 else ways[::-1]:
                repo = Repo(top / f"{number}-{turn}-{way.__name__}", files, at_once)
                took[way] = way(repo)
                sessions += repo.sessions
                repo.drop_large()
            turns.append((*(took[way] for way in ways), sessions))
        ours, steps, compiles, sessions = medians(turns)
        count = kind.count * len(CHIPS)
        yield Row(PART, kind.what, count, ours, theirs=steps, against=STEPS, limit=kind.limit)
        yield Row(PART, kind.what, count, ours, theirs=compiles, against=COMPILES, limit=kind.limit)
        yield Row(PART, kind.what, count, ours, theirs=sessions, against=SESSIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cold-") as top:
        for row in rows(Path(top).resolve(), KINDS, asked.rounds, asked.at_once):
            tell(row)


if __name__ == "__main__":
    main()
