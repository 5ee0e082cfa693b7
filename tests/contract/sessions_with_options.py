"""Sessions of the real plugin, each with its own options: `python sessions_with_options.py FOLDER`.

FOLDER/wanted.json lists {name, model, options, entries, run, dynamic, runs}; FOLDER/MODEL.onnx are
the models. One parent warms up the library without address randomisation; each session is made in
a child forked from it, in the folder FOLDER/NAME, where all that it writes stays. FOLDER/told.json
then has {error, crash, log} for each name.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

ADDR_NO_RANDOMIZE = 0x0040000  # <sys/personality.h>
ASK = 0xFFFFFFFF


def one(wanted: dict[str, Any], devices: list[Any]) -> None:
    """Make the session, and run it once where that is asked for."""
    import numpy as np
    import onnxruntime as ort

    session = ort.SessionOptions()
    session.log_severity_level = 0 if wanted["runs"] else 2
    for key, value in wanted["entries"].items():
        session.add_session_config_entry(key, value)
    session.add_provider_for_devices(devices, wanted["options"])
    made = ort.InferenceSession("model.onnx", session)
    if wanted["dynamic"]:
        made.set_ep_dynamic_options(wanted["dynamic"])
    if wanted["runs"]:
        made.disable_fallback()
        how = ort.RunOptions()
        how.log_severity_level = 0
        for key, value in wanted["run"].items():
            how.add_run_config_entry(key, value)
        inputs = {i.name: np.ones(i.shape, np.float32) for i in made.get_inputs()}
        made.run(None, inputs, how)


def in_a_child(wanted: dict[str, Any], folder: Path, devices: list[Any]) -> dict[str, Any]:
    private = folder / wanted["name"]
    private.mkdir()
    shutil.copyfile(folder / f"{wanted['model']}.onnx", private / "model.onnx")
    log = folder / f"{wanted['name']}.log"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        descriptor = os.open(log, os.O_CREAT | os.O_WRONLY)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(private)
        try:
            one(wanted, devices)
        except Exception as error:  # noqa: BLE001 - ORT has a dozen kinds; the text is told
            os.write(writing, str(error).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    crash = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return {"error": said, "crash": crash, "log": log.read_text("utf-8", "replace")}


def main(folder: Path) -> None:
    libc = ctypes.CDLL(None)
    if not libc.personality(ASK) & ADDR_NO_RANDOMIZE:
        libc.personality(ADDR_NO_RANDOMIZE)
        if libc.personality(ASK) & ADDR_NO_RANDOMIZE:  # containers may forbid it
            os.execv(sys.executable, [sys.executable, *sys.argv])
    import onnxruntime as ort
    import onnxruntime_qnn as qnn

    ort.register_execution_provider_library("QNNExecutionProvider", qnn.get_library_path())
    devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNNExecutionProvider"]
    ctypes.CDLL(qnn.get_qnn_htp_path())
    wanted = json.loads((folder / "wanted.json").read_text())
    told = {each["name"]: in_a_child(each, folder, devices) for each in wanted}
    (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
