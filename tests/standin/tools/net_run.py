"""qnn-net-run: the graph's real outputs, from the model that the library or the context keeps."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.standin.tools import (
    context_file,
    elf_args,
    htp_config,
    input_list,
    models,
    own_packages,
    quantizing,
)
from tests.standin.tools.context_generator import check_words
from tests.standin.tools.library_file import Model
from tests.standin.tools.log import RefusedError, complain, say, timed
from tests.standin.tools.meta import FLOAT16, Meta
from tests.standin.tools.onnx_graph import NUMPY, join, run
from tests.standin.tools.release import Release, parts, release, switch

TOOL = "qnn-net-run"
VALUES = [
    "model",
    "retrieve_context",
    "dlc_path",
    "backend",
    "input_list",
    "model_prefix",
    "output_dir",
    "config_file",
    "native_input_tensor_names",
    "op_packages",
    "profiling_level",
    "profiling_option",
    "perf_profile",
    "log_level",
    "num_inferences",
    "duration",
    "keep_num_outputs",
    "batch_multiplier",
    "timeout",
    "retrieve_context_timeout",
    "max_input_cache_tensor_sets",
    "max_input_cache_size_mb",
    "set_output_tensors",
    "platform_options",
    "graph_profiling_start_delay",
    "graph_profiling_num_executions",
    "io_tensor_mem_handle_type",
    "binary_updates",
]
FLAGS = [
    "debug",
    "use_native_input_files",
    "use_native_output_files",
    "shared_buffer",
    "synchronous",
    "use_mmap",
    "validate_binary",
    "version",
    "help",
]
WORDS = {
    "profiling_level": ["basic", "detailed", "client", "backend"],
    "profiling_option": ["optrace"],
    "perf_profile": htp_config.PERF,
    "log_level": ["error", "warn", "info", "debug", "verbose"],
    "io_tensor_mem_handle_type": ["ion", "dma_buf"],
}


def main(argv: Sequence[str], root: Path) -> int:
    version = release(root)
    say(f"{TOOL} pid:{os.getpid()}")
    given = elf_args.parse(argv, values=VALUES, flags=FLAGS)
    if "version" in given.flags:
        say(f"QNN SDK {version.build_id}")
        return 0
    say(f"{TOOL} build version: {version.build_id}")
    if given.unused:
        say(f"Unused Arguments {' '.join(given.unused)}")
        return 1
    try:
        _check(given)
        _run(given, version, root)
    except RefusedError as refused:
        complain(str(refused))
        return 1
    return 0


def _check(given: elf_args.Given) -> None:
    values, flags = given.values, given.flags
    check_words(values, WORDS)
    has_model = "model" in values or "dlc_path" in values
    if has_model == ("retrieve_context" in values):
        raise RefusedError("Exactly one of --model and --retrieve_context must be given")
    for name in ("backend", "input_list"):
        if name not in values:
            raise RefusedError(f"Missing option: --{name}")
    exclusive = [
        ("use_native_input_files", "native_input_tensor_names"),
        ("max_input_cache_tensor_sets", "max_input_cache_size_mb"),
    ]
    for pair in exclusive:
        if all(name in values or name in flags for name in pair):
            raise RefusedError(f"--{pair[0]} and --{pair[1]} exclude each other")
    if "debug" in flags and "retrieve_context" in values:
        raise RefusedError("--debug cannot be used with --retrieve_context")


def _run(given: elf_args.Given, version: Release, root: Path) -> None:
    values, how = given.values, switch(root, TOOL)
    if htp_config.found(values["backend"]) is None:
        raise RefusedError(f"Unable to load backend. dlopen {values['backend']} failed")
    if "config_file" in values:
        htp_config.chosen(htp_config.outer(Path(values["config_file"])), version)
    registered = own_packages.register(values)
    made = _graphs(values, version)
    own_packages.check(made, registered)
    lists = values["input_list"].split(",")
    if len(lists) != len(made):
        raise RefusedError(f"{len(made)} graphs need {len(made)} input lists, {len(lists)} given")
    out = Path(values.get("output_dir", "./output"))
    out.mkdir(parents=True, exist_ok=True)
    if how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    say("Executing Graphs")
    if how == "execution":
        complain("Graph Execution failure")
        return  # and some versions end well all the same
    for model, path in zip(made, lists, strict=True):
        if path == "__":
            continue
        folder = out / model.meta["graph"] if len(made) > 1 else out
        native = "use_native_input_files" in given.flags
        samples = input_list.read(Path(path), model.meta["inputs"], native=native, batches=True)
        for number, sample in enumerate(samples):
            known = "structure" in model.meta or how != "zeros"
            outputs = _inferred(model, sample, registered) if known else _zeros(model.meta)
            if how == "wrong":
                outputs = {name: -value for name, value in outputs.items()}
            if how == "nothing":
                continue
            result = folder / f"Result_{number}"
            _write(result, model.meta, outputs, native="use_native_output_files" in given.flags)
            _spoil(result, how)
    (out / "execution_metadata.yaml").write_text(f"sdk: {version.build_id}\n", encoding="utf-8")
    (out / "qnn-profiling-data_0.log").write_bytes(b"QNNSTANDIN-PROFILE\n")
    say("Finished Executing Graphs")


def _graphs(values: Mapping[str, str], version: Release) -> list[Model]:
    if "retrieve_context" not in values:
        say("Composing Graphs")
        made = models.models(values, version)
        say("Finalizing Graphs")
        return made
    found = []
    for path in values["retrieve_context"].split(","):
        say(f"Creating context from binary file: {path}")
        read = context_file.read(Path(path))
        if read is None or parts(read[0]["sdk"]) > version.number:
            raise RefusedError("Create From Binary failure")
        if on_device():
            _find_skel(read[0]["arch"])
        elif read[0]["share_weights"]:
            # seen of libQnnHtp.so for x86-64: it calls what only a device's own has
            os.kill(os.getpid(), signal.SIGSEGV)
        graphs = zip(read[0]["graphs"], read[1], strict=True)
        found += [Model(graph["meta"], weights) for graph, weights in graphs]
    return found


def _inferred(
    model: Model, sample: input_list.Sample, registered: Sequence[own_packages.Loaded]
) -> dict[str, Any]:
    """A batch of several is run one by one."""
    if "structure" not in model.meta:
        raise RefusedError("Graph Execution failure: of this graph only the description is known")
    proto = join(model.meta["structure"], model.weights)
    counts = {len(value) for value in sample.values()}
    if len(counts) > 1:
        raise RefusedError("Graph Execution failure: inputs of different batch sizes")
    rows: dict[str, list[Any]] = {tensor["name"]: [] for tensor in model.meta["outputs"]}
    for at in range(counts.pop() if counts else 1):
        feeds = {}
        for tensor in model.meta["inputs"]:
            value = _as_float(sample[tensor["name"]][at], tensor)
            feeds[tensor["source"]] = input_list.to_source(value, tensor)
        if model.meta.get("own_operators"):
            made = own_packages.run(proto, feeds, registered)
        else:
            made = run(proto, feeds)
        for tensor in model.meta["outputs"]:
            rows[tensor["name"]].append(_rounded(made[tensor["source"]], tensor))
    return {name: np.concatenate([np.atleast_1d(v) for v in value]) for name, value in rows.items()}


def _zeros(meta: Meta) -> dict[str, Any]:
    """Of a graph of which only the description is known, answers of the right size."""
    return {t["name"]: np.zeros(t["dims"], np.float32) for t in meta["outputs"]}


def _as_float(value: Any, tensor: Meta) -> Any:
    if "scale" not in tensor:
        return _rounded(value, tensor)
    if value.dtype.kind == "u":
        return quantizing.dequantized(value, tensor)
    return quantizing.through(value, tensor)


def _rounded(value: Any, tensor: Meta) -> Any:
    if tensor["dtype"] == FLOAT16:
        return value.astype(np.float16).astype(np.float32)
    return quantizing.through(value, tensor)


def _write(folder: Path, meta: Meta, outputs: Mapping[str, Any], *, native: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for tensor in meta["outputs"]:
        value = outputs[tensor["name"]]
        if not native:
            (folder / f"{tensor['name']}.raw").write_bytes(value.astype(np.float32).tobytes())
            continue
        own = (
            quantizing.quantized(value, tensor)
            if "scale" in tensor
            else value.astype(NUMPY[tensor["dtype"]])
        )
        (folder / f"{tensor['name']}_native.raw").write_bytes(own.tobytes())


def _spoil(folder: Path, how: str | None) -> None:
    """Cut short, or called as some versions call native files."""
    for path in folder.glob("*_native.raw"):
        if how == "short":
            path.write_bytes(path.read_bytes()[:-1])
        if how == "unmarked":
            path.rename(path.with_name(path.name.replace("_native", "")))


def on_device() -> bool:
    """Whether the stand-in for adb runs it."""
    return "QNNSTANDIN_DEVICE" in os.environ


def _find_skel(arch: int) -> None:
    """The Hexagon's library, in a folder of ADSP_LIBRARY_PATH; : does not part its folders."""
    folders = os.environ.get("ADSP_LIBRARY_PATH", "").split(";")
    if not any((Path(folder) / f"libQnnHtpV{arch}Skel.so").is_file() for folder in folders):
        timed("ERROR", "QnnDsp <E> DspTransport.openSession qnn_open failed, 0x80000406", 3.1)
        timed("ERROR", "QnnDsp <E> Failed to load skel, error: 4000", 3.1)
        timed("ERROR", "QnnDsp <E> Transport layer setup failed: 14001", 3.2)
        raise RefusedError("Device Creation failure")
