"""Quantize and compile a model above 2 GiB, and tell time and memory of each step.

    python bench/big_model.py FOLDER [--precision w8a16] [--size 12288] [--layers 4]

FOLDER gets a repo of recipes with one model of big matrix products, and about four times its size
in all. What it told stands in docs/precisions.md.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper

STARTER = Path(__file__).parents[1] / "qnnbuild" / "starter"
RECIPE = """\
model: big
license: MIT
source: {{file: ../onnx/big.onnx}}
graphs:
  big:
    precision: {precision}
    calibration: {{random: 4}}
    verify: {{chips: none}}
    deadline: 7200
chips: [SM8750]
"""


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--precision", default="w8a8")
    parser.add_argument("--size", type=int, default=12288, help="rows and columns of each weight")
    parser.add_argument("--layers", type=int, default=4)
    args = parser.parse_args()
    for name in ("onnx", "recipes"):
        (args.folder / name).mkdir(parents=True, exist_ok=True)
    for name in ("doit.cfg", "dodo.py"):
        shutil.copy(STARTER / name, args.folder / name)
    (args.folder / "recipes" / "big.yaml").write_text(RECIPE.format(precision=args.precision))
    path = args.folder / "onnx" / "big.onnx"
    path.write_bytes(
        products(path.with_suffix(".data"), args.size, args.layers).SerializeToString()
    )
    env = {name: value for name, value in os.environ.items() if name != "QNNBUILD_STORE"}
    done = subprocess.run([sys.executable, "-m", "doit"], cwd=args.folder, env=env, check=False)
    tell(args.folder / ".qnnbuild" / "records.db")
    return done.returncode


def products(side: Path, size: int, layers: int) -> ModelProto:
    """x: float32 [1, size] → MatMul and Relu, again and again; the weights are in `side`."""
    random = np.random.default_rng(1)
    nodes, stored, last = [], [], "x"
    with side.open("wb") as file:
        for layer in range(layers):
            weight = random.standard_normal((size, size), dtype=np.float32) / np.float32(size**0.5)
            tensor = TensorProto(name=f"w{layer}", data_type=TensorProto.FLOAT, dims=[size, size])
            tensor.data_location = TensorProto.EXTERNAL
            said = {"location": side.name, "offset": file.tell(), "length": weight.nbytes}
            for key, value in said.items():
                tensor.external_data.add(key=key, value=str(value))
            file.write(weight.tobytes())
            stored.append(tensor)
            product, following = f"product{layer}", f"relu{layer}"
            nodes.append(helper.make_node("MatMul", [last, tensor.name], [product], name=product))
            nodes.append(helper.make_node("Relu", [product], [following], name=following))
            last = following
    borders = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])] for name in ("x", last)
    )
    graph = helper.make_graph(nodes, "big", *borders, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tell(records: Path) -> None:
    with sqlite3.connect(records) as db:
        found = [json.loads(row[0]) for row in db.execute("select record from records")]
    for record in found:
        seconds, peak = record["seconds"], record["peak_bytes"] / 1e9
        sys.stdout.write(f"{record['name']:<28} {seconds:8.1f} s {peak:6.2f} GB\n")


if __name__ == "__main__":
    sys.exit(main())
