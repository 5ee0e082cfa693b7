"""The host's HTP emulator: a session is run in a forked process, its answers written to files.

The emulator reads a damaged binary without care and may die of it, so it gets a process of its
own. `disable_fallback` is called because ONNX Runtime's Python would else run a session that
failed once more, on the CPU alone. Which provider ran each node is read from the runtime's own
profile of the first sample, not taken on trust.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.work import deadlines
from qnnbuild.work.npz import read_npz, write_npz
from qnnbuild.work.press import PROVIDER
from qnnbuild.work.run import WorkError

ERRORS_ONLY = 3


@dataclass(frozen=True, kw_only=True)
class Emulation:
    model: Path
    options: Mapping[str, str]  # of the provider; soc_model is one of them
    entries: Mapping[str, str]  # of the session
    samples: Sequence[Path]
    outputs: Path  # answers are written here, a file a sample, by the sample's name
    only: Sequence[str] | None = None  # names of outputs; None: all


@dataclass(frozen=True, kw_only=True)
class Emulated:
    error: str | None
    crash: str | None  # a signal's name
    ran_on: Mapping[str, int]  # provider → nodes, of the first sample

    @property
    def why_not(self) -> str | None:
        return self.crash or self.error


def emulate(wanted: Emulation) -> Emulated:
    """Run all samples, one after the other; what the runtime prints goes to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = deadlines.fork()
    if child == 0:
        os.close(reading)
        _in_the_child(wanted, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    crash = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
    told: dict[str, Any] = json.loads(said) if said else {"error": "it ended without a word"}
    return Emulated(
        error=None if crash else told.get("error"), crash=crash, ran_on=told.get("ran_on", {})
    )


def _in_the_child(wanted: Emulation, writing: int) -> None:
    told: dict[str, Any] = {}
    try:
        told["ran_on"] = _run_all(wanted)
    except WorkError as error:
        told["error"] = error.message
    except BaseException as error:  # noqa: BLE001  # the parent tells it
        told["error"] = str(error) or type(error).__name__
    finally:
        os.write(writing, json.dumps(told).encode()[: 1 << 15])
        sys.stdout.flush()
        os._exit(0)


def _run_all(wanted: Emulation) -> dict[str, int]:
    began = time.monotonic()
    session = _session(wanted)
    _say(f"loaded in {time.monotonic() - began:.1f} s")
    ran_on: dict[str, int] = {}
    names = [value.name for value in session.get_outputs()]
    names = names if wanted.only is None else [name for name in names if name in wanted.only]
    for number, file in enumerate(wanted.samples, 1):
        began = time.monotonic()
        arrays = read_npz(file)
        fed = {value.name: arrays[value.name] for value in session.get_inputs()}
        answers = session.run(names, fed)
        write_npz(wanted.outputs / file.name, dict(zip(names, answers, strict=True)))
        _say(f"sample {number} of {len(wanted.samples)}: {time.monotonic() - began:.1f} s")
        if number == 1:
            ran_on = _providers(Path(session.end_profiling()))
    return ran_on


def _session(wanted: Emulation) -> Any:
    import onnxruntime
    import onnxruntime_qnn

    onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
    devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == PROVIDER]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.enable_profiling = True
    options.profile_file_prefix = str(wanted.model.with_name("profile"))
    for key, value in wanted.entries.items():
        options.add_session_config_entry(key, value)
    options.add_provider_for_devices(devices, dict(wanted.options))
    session = onnxruntime.InferenceSession(str(wanted.model), options)
    session.disable_fallback()
    return session


def _providers(profile: Path) -> dict[str, int]:
    """Provider → how many nodes it ran."""
    events = json.loads(profile.read_text(encoding="utf-8"))
    profile.unlink()
    ran = {
        (event["args"].get("provider", ""), event["name"])
        for event in events
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")
    }
    return dict(sorted(Counter(provider for provider, _ in ran).items()))


def _say(text: str) -> None:
    sys.stdout.write(f"emulator: {text}\n")
    sys.stdout.flush()
