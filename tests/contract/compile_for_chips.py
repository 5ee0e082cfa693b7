"""Compiles two tiny models for many chips: `python compile_for_chips.py FOLDER ID:KIND …`.

One parent warms up the library; each compile runs in a child forked from it, in a folder of its
own, two at a time. FOLDER then has ID-KIND.bin for what compiled and ID-KIND.txt with the reason
for what did not.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import onnxruntime_qnn as qnn
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

AT_A_TIME = 2


def conv(*, quantized: bool) -> bytes:
    """A convolution, in float or between QuantizeLinear and DequantizeLinear."""
    weights = np.random.default_rng(1).integers(-100, 100, (8, 3, 3, 3)).astype(np.int8)
    if quantized:
        return model(
            [
                helper.make_node("QuantizeLinear", ["x", "x_s", "zero"], ["x_q"], name="q_x"),
                helper.make_node("DequantizeLinear", ["x_q", "x_s", "zero"], ["x_d"], name="d_x"),
                helper.make_node("DequantizeLinear", ["w_q", "w_s", "w_z"], ["w"], name="d_w"),
                helper.make_node("Conv", ["x_d", "w"], ["c"], name="conv"),
                helper.make_node("QuantizeLinear", ["c", "y_s", "zero"], ["c_q"], name="q_y"),
                helper.make_node("DequantizeLinear", ["c_q", "y_s", "zero"], ["y"], name="d_y"),
            ],
            w_q=weights,
            w_s=np.array(0.01, np.float32),
            w_z=np.array(0, np.int8),
            x_s=np.array(0.02, np.float32),
            y_s=np.array(0.1, np.float32),
            zero=np.array(128, np.uint8),
        )
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    return model([node], w=(weights / 100).astype(np.float32))


def model(nodes: list[NodeProto], **weights: np.ndarray) -> bytes:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 14, 14])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    made: ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    return bytes(made.SerializeToString(deterministic=True))


MODELS = {"qdq": conv(quantized=True), "fp16": conv(quantized=False)}


def compile_for(soc_model: str, kind: str, devices: list[object]) -> None:
    """Leaves m_ctx_qnn.bin in the current folder."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    for key, value in {
        "ep.context_enable": "1",
        "ep.context_file_path": "m_ctx.onnx",
        "ep.context_embed_mode": "0",
        "session.disable_cpu_ep_fallback": "1",
    }.items():
        options.add_session_config_entry(key, value)
    chip = {"backend_type": "htp", "soc_model": soc_model}
    fp16 = {"enable_htp_fp16_precision": "1" if kind == "fp16" else "0"}
    options.add_provider_for_devices(devices, chip | fp16)
    ort.InferenceSession(MODELS[kind], sess_options=options)


def run(wanted: str, folder: Path, devices: list[object]) -> None:
    """In the child: compile, keep what came of it, end."""
    soc_model, kind = wanted.split(":")
    name = f"{soc_model}-{kind}"
    private = folder / f"{name}.work"
    private.mkdir()
    os.chdir(private)
    log = os.open("log", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        compile_for(soc_model, kind, devices)
        (private / "m_ctx_qnn.bin").rename(folder / f"{name}.bin")
    except Exception as error:  # noqa: BLE001 - ORT has a dozen kinds; the reason is kept
        (folder / f"{name}.txt").write_text(str(error))
    os.chdir(folder)
    shutil.rmtree(private)


def main(folder: Path, wanted: list[str]) -> None:
    ort.register_execution_provider_library("QNNExecutionProvider", qnn.get_library_path())
    devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNNExecutionProvider"]
    ctypes.CDLL(str(Path(qnn.get_library_path()).with_name("libQnnHtp.so")))
    running = 0
    for one in wanted:
        if running == AT_A_TIME:
            os.wait()
            running -= 1
        if os.fork() == 0:
            try:
                run(one, folder, devices)
            finally:
                os._exit(0)
        running += 1
    for _ in range(running):
        os.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
