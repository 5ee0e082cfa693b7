"""The same numbers as verify's, by a plain script: python by_hand.py CTX SOC_MODEL SAMPLES REFS."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import onnxruntime_qnn as qnn

ctx, soc_model, samples, references = sys.argv[1:]
ort.register_execution_provider_library("QNNExecutionProvider", qnn.get_library_path())
options = ort.SessionOptions()
devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNNExecutionProvider"]
options.add_provider_for_devices(devices, {"backend_type": "htp", "soc_model": soc_model})
session = ort.InferenceSession(ctx, options)
names = [output.name for output in session.get_outputs()]
a: dict[str, list[np.ndarray]] = {n: [] for n in names}
b: dict[str, list[np.ndarray]] = {n: [] for n in names}
for file in sorted(Path(samples).glob("*.npz")):
    for name, answer in zip(names, session.run(None, dict(np.load(file))), strict=True):
        a[name].append(answer.astype(float))
        b[name].append(np.load(Path(references, file.name))[name].astype(float))
told = {}
for n in names:
    noise = np.subtract(a[n], b[n])
    sqnr = 10 * np.log10(np.sum(np.square(b[n])) / np.sum(noise**2))
    top1 = np.mean(np.argmax(a[n], axis=-1) == np.argmax(b[n], axis=-1))
    told[n] = [float(f"{number:.6g}") for number in (sqnr, np.max(abs(noise)), top1)]
sys.stdout.write("\n" + json.dumps(told) + "\n")
