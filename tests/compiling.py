"""Compiles models for SM8750 with fp16 and no CPU fallback: `python compiling.py FOLDER …`.

Prints a JSON list with, for each folder's model.onnx, whether a context binary was made. One
parent warms up the library; each compile runs in a child forked from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SETTINGS = {
    "ep.context_enable": "1",
    "ep.context_file_path": "m_ctx.onnx",
    "ep.context_embed_mode": "0",
    "session.disable_cpu_ep_fallback": "1",
}
CHIP = {"backend_type": "htp", "soc_model": "69", "enable_htp_fp16_precision": "1"}


def which_compile(folders: Sequence[Path]) -> list[bool]:
    """Starts this file as a program."""
    argv = [sys.executable, __file__, *(str(folder) for folder in folders)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=600)
    answer: list[bool] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main(folders: Sequence[str]) -> None:
    import onnxruntime as ort
    import onnxruntime_qnn as qnn

    ort.register_execution_provider_library("QNNExecutionProvider", qnn.get_library_path())
    devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNNExecutionProvider"][:1]
    made: list[bool] = []
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            child = os.fork()
            if child == 0:
                os.chdir(scratch)
                with contextlib.suppress(Exception):
                    options = ort.SessionOptions()
                    options.log_severity_level = 4
                    for key, value in SETTINGS.items():
                        options.add_session_config_entry(key, value)
                    options.add_provider_for_devices(devices, CHIP)
                    ort.InferenceSession(f"{folder}/model.onnx", sess_options=options)
                    Path("done").touch()
                os._exit(0)
            os.waitpid(child, 0)
            binary = Path(scratch, "m_ctx_qnn.bin")
            whole = Path(scratch, "done").exists() and binary.exists() and binary.stat().st_size > 0
            made.append(whole)
    sys.stdout.write("\n" + json.dumps(made) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
