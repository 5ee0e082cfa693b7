"""How to run a bundle: a part of its model card, from its manifest. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

KINDS = """\
| of `run` | Python | C++ | Java |
| --- | --- | --- | --- |
| the plugin, before all | `register_execution_provider_library` | `Env::RegisterExecutionProviderLibrary` | `OrtEnvironment.registerExecutionProviderLibrary` |
| `provider_options` | `SessionOptions.add_provider_for_devices` | `SessionOptions::AppendExecutionProvider_V2` | `SessionOptions.addExecutionProvider` |
| `session_options` | `SessionOptions.add_session_config_entry` | `SessionOptions::AddConfigEntry` | `SessionOptions.addConfigEntry` |
| `run_options` | `RunOptions.add_run_config_entry` | `RunOptions::AddConfigEntry` | `RunOptions.addRunConfigEntry` |
| `dynamic_options` | `InferenceSession.set_ep_dynamic_options` | `Session::SetEpDynamicOptions` | – |"""  # noqa: E501  # a row of Markdown is one line

MAVEN = (
    "For Android the runtime comes from Maven: `com.microsoft.onnxruntime:onnxruntime-android`, "
    "its plugin `com.qualcomm.qti:onnxruntime-android-qnn`, and `com.qualcomm.qti:qnn-runtime`, "
    "which has to be of the SDK under Provenance or newer."
)
"""As the plugin's own documentation names them."""


def how_to_run(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Blocks of Markdown: run.py, the same in an app's own code, and what other languages call."""
    graphs = {name: graph for name, graph in manifest["graphs"].items() if graph["onnx"]}
    if not graphs:
        yield "Load the `.bin` file with the QNN runtime that stands under Provenance."
        return
    name, graph = next(iter(graphs.items()))
    which = f" --graph {name}" if len(graphs) > 1 else ""
    if graph["precision"] == "genie":
        yield "On Windows on ARM64, with all files in one folder; nothing else runs it:"
    else:
        yield "On the device, with all files in one folder; Linux on x86-64 takes the HTP emulator:"
    yield "\n".join(
        [
            "```sh",
            "pip install numpy onnxruntime onnxruntime-qnn",
            f"python run.py{which} --random 0",
            "python run.py --help",
            "```",
        ]
    )
    yield "In an app, with ONNX Runtime and its QNN plugin:"
    yield "\n".join(["```python", *_code(graph), "```"])
    for name, graph in graphs.items():
        if "lora" in graph:
            yield _adapters(name, graph["lora"])
    if len(graphs) > 1:
        yield "Each graph has its own file and its own options."
    yield (
        "Where no Python is, as on Android, an app does the same. `graphs.NAME.run` in "
        "`manifest.json` says for each graph what to give the runtime, all as texts:"
    )
    yield KINDS
    yield MAVEN


def _adapters(name: str, lora: Mapping[str, Any]) -> str:
    texts = ", ".join(f"`{a}` (`{one['config']}`)" for a, one in lora["adapters"].items())
    usual = f"`{lora['default']}`" if lora["default"] else "none"
    return (
        f"Adapters of `{name}`: {texts}; without a choice {usual}. `run.py --lora NAME` takes one; "
        "an app gives the text's path as the run option `qnn.lora_config`. The text names the "
        "adapter's file, which the runtime looks for in the app's current folder."
    )


def _code(graph: Mapping[str, Any]) -> Iterator[str]:
    run = graph["run"]
    yield "import onnxruntime as ort"
    yield "import onnxruntime_qnn"
    yield ""
    yield 'name = "QNNExecutionProvider"'
    yield "ort.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())"
    yield "devices = [d for d in ort.get_ep_devices() if d.ep_name == name]"
    yield "options = ort.SessionOptions()"
    for key, value in sorted(run["session_options"].items()):
        yield f"options.add_session_config_entry({_text(key)}, {_text(value)})"
    yield f"options.add_provider_for_devices(devices, {_text(run['provider_options'])})"
    yield f"session = ort.InferenceSession({_text(graph['onnx'])}, options)"
    if run["dynamic_options"]:
        yield f"session.set_ep_dynamic_options({_text(run['dynamic_options'])})"
    yield "run_options = ort.RunOptions()"
    for key, value in sorted(run["run_options"].items()):
        yield f"run_options.add_run_config_entry({_text(key)}, {_text(value)})"
    yield "answers = session.run(None, inputs, run_options)"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
