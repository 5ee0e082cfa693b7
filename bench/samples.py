"""Does calibrating need more memory for more samples? Each in a process of its own.

    python bench/samples.py FOLDER [--counts 50 1000] [--methods minmax entropy]

What it told stands in docs/precisions.md.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, parser

from qnnbuild.model.recipe import Quantization
from qnnbuild.work.quantize_ort import quantize
from qnnbuild.work.run import Run

METHODS = ("minmax", "moving_average", "percentile", "entropy")
SHAPE = (1, 16, 128, 128)
GRAPH = """
g (float[1,16,128,128] x) => (float[1,16,128,128] y) {
  [a] a = Conv <pads = [1,1,1,1]> (x, w)  [b] b = Relu (a)
  [c] c = Conv <pads = [1,1,1,1]> (b, w)  [d] d = Sigmoid (c)  [e] y = Mul (d, c)
}
"""


def main() -> int:
    known = ArgumentParser(description=__doc__.splitlines()[0])
    known.add_argument("folder", type=Path)
    known.add_argument("--counts", type=int, nargs="+", default=[50, 1000])
    known.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    known.add_argument("--one", action="store_true", help="in this process")
    args = known.parse_args()
    if args.one:
        return one(args.folder, args.counts[0], args.methods[0])
    for count in args.counts:
        prepare(args.folder / str(count), count)
        for method in args.methods:
            told = ["--counts", str(count), "--methods", method]
            argv = [sys.executable, __file__, str(args.folder), "--one", *told]
            subprocess.run(argv, check=True)
    return 0


def network() -> ModelProto:
    model = onnx.ModelProto(ir_version=8, opset_import=[onnx.helper.make_opsetid("", 17)])
    model.graph.CopyFrom(parser.parse_graph(GRAPH))
    weight = np.random.default_rng(0).standard_normal((16, 16, 3, 3)).astype(np.float32) / 12
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    return onnx.shape_inference.infer_shapes(model)


def prepare(folder: Path, count: int) -> None:
    for name in ("model", "feeds"):
        (folder / name).mkdir(parents=True)
    onnx.save(network(), str(folder / "model" / "model.onnx"))
    random = np.random.default_rng(1)
    for number in range(count):
        x = random.standard_normal(SHAPE).astype(np.float32)
        np.savez(folder / "feeds" / f"{number:06}.npz", x=x)


def one(top: Path, count: int, method: str) -> int:
    folder = top / str(count)
    outputs = {name: folder / f"out-{method}" / name for name in ("model", "quantization")}
    for path in outputs.values():
        path.mkdir(parents=True)
    said = {n: v for n, v in asdict(Quantization(method=method)).items() if n != "encodings"}
    inputs = {name: folder / name for name in ("model", "feeds")}
    began = time.monotonic()
    quantize(Run(params=json.loads(json.dumps(said)), inputs=inputs, outputs=outputs))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    took = time.monotonic() - began
    sys.stdout.write(f"{method} {count} samples: {peak:.0f} MB, {took:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
