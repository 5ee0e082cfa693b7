"""Runs a ctx.onnx on the emulator with profiling: python profiled.py FOLDER CTX SOC_MODEL LEVEL."""

import os
import sys

import numpy as np
import onnxruntime as ort
import onnxruntime_qnn as qnn

folder, ctx, soc_model, level = sys.argv[1:]
os.chdir(folder)
ort.register_execution_provider_library("QNNExecutionProvider", qnn.get_library_path())
options = ort.SessionOptions()
devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNNExecutionProvider"]
wanted = {
    "backend_type": "htp",
    "soc_model": soc_model,
    "profiling_level": level,
    "profiling_file_path": "profile.csv",
    "enable_framework_op_trace": "1",
}
options.add_provider_for_devices(devices, wanted)
session = ort.InferenceSession(ctx, options)
feeds = {one.name: np.ones(one.shape, np.float32) for one in session.get_inputs()}
for _ in range(2):
    session.run(None, feeds)
