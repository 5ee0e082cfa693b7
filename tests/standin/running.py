"""Models, configs and calls for the tests of the stand-in."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import subprocess
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.standin import lay_out

WEIGHTS = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
SAMPLE = np.linspace(-2, 3, 48, dtype=np.float32).reshape(1, 6, 8)
REFERENCE = np.maximum(SAMPLE @ WEIGHTS, 0)
HOST = lay_out.HOST
TOOLS = Path("bin") / HOST


class Ended(NamedTuple):
    rc: int
    out: str
    err: str


class Sdk(NamedTuple):
    """One SDK folder, the working folder of its calls, and their environment."""

    root: Path
    cwd: Path
    env: dict[str, str]

    def run(self, tool: str, *argv: object, env: dict[str, str] | None = None) -> Ended:
        done = subprocess.run(
            [str(self.root / TOOLS / tool), *map(str, argv)],
            cwd=self.cwd,
            env=self.env if env is None else env,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def call(self, tool: str, *argv: object) -> Ended:
        """The tool's own code in this process: what starts a tool costs half a second each time."""
        module = {**lay_out.PYTHON_TOOLS, **lay_out.COMPILED_TOOLS}[tool]
        main = importlib.import_module(f"tests.standin.tools.{module}").main
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.cwd),
            mock.patch.dict(os.environ, self.env, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                rc = int(main([str(word) for word in argv], self.root))
            except SystemExit as ended:
                rc = int(ended.code or 0)
            except Exception:  # noqa: BLE001  # what the interpreter does with it
                err.write(traceback.format_exc())
                rc = 1
        return Ended(rc, out.getvalue(), err.getvalue())

    def convert(self, *argv: object, output: str = "out/m.cpp", model: str = "m.onnx") -> Ended:
        words = ("--input_network", model, "--output_path", output, *argv)
        return self.call("qnn-onnx-converter", *words)

    def library(self, name: str = "m", *argv: object) -> Ended:
        words = ("-c", f"out/{name}.cpp", "-o", "libs", "-t", HOST, *argv)
        binary = ("-b", f"out/{name}.bin") if (self.cwd / "out" / f"{name}.bin").exists() else ()
        return self.call("qnn-model-lib-generator", *words, *binary)

    def generate(self, *argv: object, model: str = f"libs/{HOST}/libm.so") -> Ended:
        backend = self.root / "lib" / HOST / "libQnnHtp.so"
        words = ("--backend", backend, "--model", model, "--output_dir", "ctx", *argv)
        return self.call("qnn-context-binary-generator", *words)

    def read_back(self, binary: str = "ctx/m.bin") -> dict[str, Any]:
        words = ("--context_binary", binary, "--json_file", "info.json")
        done = self.call("qnn-context-binary-utility", *words)
        assert done == Ended(0, "", "")
        info: dict[str, Any] = json.loads((self.cwd / "info.json").read_text())["info"]
        return info

    def settings(self, binary: str = "ctx/m.bin") -> tuple[int, int, int, int]:
        """(arch, O, VTCM, HVX threads) of the first graph."""
        info = self.read_back(binary)
        blob = info["graphs"][0]["info"]["graphBlobInfo"]["info"]
        arch = info["contextMetadata"]["info"]["dsp arch"]
        return arch, blob["optimizationLevel"], blob["vtcmSize"], blob["numHvxThreads"]


def sdk(folder: Path, version: str = lay_out.OLD) -> Sdk:
    """An SDK, an NDK on PATH, and a folder to work in with a model and samples."""
    root = lay_out.lay_out(folder, version)
    ndk = lay_out.lay_out_ndk(folder)
    base = {"PATH": f"{ndk}:{os.environ['PATH']}"}
    cwd = folder / "work"
    cwd.mkdir(exist_ok=True)
    save_model(cwd / "m.onnx")
    SAMPLE.tofile(cwd / "x.raw")
    (cwd / "list.txt").write_text("x.raw\n")
    return Sdk(root, cwd, lay_out.environment(root, base))


def save_model(path: Path, *, weights: bool = True, shape: Sequence[int | str] = (1, 6, 8)) -> None:
    """MatMul and Relu; without weights the second factor is an input."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))]
    if not weights:
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [8, 4]))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["mid"], name="/layer.0/MatMul"),
        helper.make_node("Relu", ["mid"], ["y"], name="relu"),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape[:2], 4])
    constants = [numpy_helper.from_array(WEIGHTS, "w")] if weights else []
    graph = helper.make_graph(nodes, "g", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def htp(names: Iterable[str] = ("m",), **device: Any) -> dict[str, Any]:
    graph = {"graph_names": list(names), "O": 3, "vtcm_mb": 8, "hvx_threads": 4}
    return {"graphs": [graph], "devices": [{"soc_model": 69, "dsp_arch": "v79", **device}]}


def configured(where: Sdk, config: Any, *, name: str = "htp.json") -> str:
    """Both files; returns the outer one's name."""
    (where.cwd / name).write_text(json.dumps(config))
    wrapped = {
        "shared_library_path": "libQnnHtpNetRunExtensions.so",
        "config_file_path": str(where.cwd / name),
    }
    (where.cwd / "ext.json").write_text(json.dumps({"backend_extensions": wrapped}))
    return "ext.json"
