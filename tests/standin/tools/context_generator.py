"""qnn-context-binary-generator."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.standin.tools import context_file, elf_args, htp_config, models, own_packages
from tests.standin.tools.htp_config import Bound, Chosen
from tests.standin.tools.library_file import Model
from tests.standin.tools.log import RefusedError, complain, say, timed
from tests.standin.tools.meta import Meta
from tests.standin.tools.release import Release, release, switch

TOOL = "qnn-context-binary-generator"
TWO_GB_IN_KB = 2 << 20
MOST_GRAPHS = 64
VALUES = [
    "backend",
    "model",
    "dlc_path",
    "binary_file",
    "output_dir",
    "model_prefix",
    "config_file",
    "op_packages",
    "profiling_level",
    "profiling_option",
    "set_output_tensors",
    "backend_binary",
    "log_level",
    "input_output_tensor_mem_type",
    "platform_options",
    "data_format_config",
    "adapter_weight_config",
    "htp_socs",
]
FLAGS = ["enable_intermediate_outputs", "version", "help"]
WORDS = {
    "profiling_level": ["basic", "detailed", "backend"],
    "profiling_option": ["optrace"],
    "log_level": ["error", "warn", "info", "debug", "verbose"],
    "input_output_tensor_mem_type": ["raw", "memhandle"],
}


def main(argv: Sequence[str], root: Path) -> int:
    version = release(root)
    say(f"{TOOL} pid:{os.getpid()}")
    given = elf_args.parse(argv, values=VALUES, flags=FLAGS)
    if "version" in given.flags:
        say(f"QNN SDK {version.build_id}")
        return 0
    if "help" in given.flags:
        say("\n".join(f"  --{name}" for name in [*VALUES, *FLAGS]))
        return 0
    if given.unused:
        say(f"Unused Arguments {' '.join(given.unused)}")
        return 1
    try:
        _check(given)
        _generate(given.values, version, root)
    except RefusedError as refused:
        complain(str(refused))
        return 1
    return 0


def check_words(values: Mapping[str, str], words: Mapping[str, Sequence[str]]) -> None:
    for name, allowed in words.items():
        if values.get(name, allowed[0]) not in allowed:
            raise RefusedError(f"Invalid value for --{name}: {values[name]}")


def _check(given: elf_args.Given) -> None:
    check_words(given.values, WORDS)
    if "enable_intermediate_outputs" in given.flags and "set_output_tensors" in given.values:
        raise RefusedError(
            "--enable_intermediate_outputs and --set_output_tensors exclude each other"
        )


def _generate(values: Mapping[str, str], version: Release, root: Path) -> None:
    if not values.get("backend"):
        raise RefusedError("Missing option: --backend")
    backend = htp_config.found(values["backend"])
    if backend is None or backend.read_bytes()[:4] != b"\x7fELF":
        timed("ERROR", f"Unable to load backend. dlopen {values['backend']} failed")
        raise RefusedError("Initialization failure")
    registered = own_packages.register(values)
    made = models.models(values, version)
    own_packages.check(made, registered)
    config = {}
    if "config_file" in values:
        config = dict(htp_config.outer(Path(values["config_file"])))
    chosen = htp_config.chosen(config, version)
    if switch(root, TOOL) == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if backend.name != "libQnnHtp.so":
        raise RefusedError(f"Device Creation failure: {backend.name} makes no context binaries")
    _check_graphs(made)
    _finalize(made, switch(root, "context_limit_kb", TWO_GB_IN_KB), root)
    _write(values, made, chosen, version, root)


def _check_graphs(made: Sequence[Model]) -> None:
    names = [model.meta["graph"] for model in made]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        timed("ERROR", f"Graph {', '.join(sorted(twice))} exists already in the context")
        raise RefusedError("Failed to compose graphs: ComposeGraphs Failed with error = 1")
    if len(names) > MOST_GRAPHS:
        raise RefusedError(f"A context holds at most {MOST_GRAPHS} graphs, {len(names)} given")


def _finalize(made: Sequence[Model], limit_kb: int, root: Path) -> None:
    if switch(root, TOOL) == "finalize":
        timed("ERROR", "QnnDsp <E> RouterHexagon graph prepare failed 13")
        timed("ERROR", "QnnDsp <E> Failed to finalize graph (id: 1) with err 1002")
        timed("ERROR", "Finalize Graph for Idx = 0 failed with error = 1002", 23631.1)
        raise RefusedError("Graph Finalize failure")
    needed = sum(len(model.weights) for model in made) // 1024
    if needed > limit_kb:
        say(
            f"fa_alloc.cc:2425::ERROR:graph requires estimated allocation of {needed} KB, "
            f"limit is {limit_kb} KB"
        )
        say("graph_prepare.cc:838::ERROR:error during serialize: memory usage too large")
        timed("ERROR", "QnnDsp <E> Failed to get context binary size with err 0x138b")
        timed("ERROR", "Could not get the required binary size.", 23631.2)
        raise RefusedError("Graph Finalize failure")
    for _ in made:
        say("[####################] 100%")


def _write(
    values: Mapping[str, str], made: Sequence[Model], chosen: Chosen, version: Release, root: Path
) -> None:
    out = Path(values.get("output_dir", "./output"))
    out.mkdir(parents=True, exist_ok=True)
    if "profiling_level" in values:
        (out / "qnn-profiling-data_0.log").write_bytes(b"QNNSTANDIN-PROFILE\n")
    if values.get("profiling_option") == "optrace":
        name = values.get("binary_file", made[0].meta["graph"])
        Path(f"{Path(name).name}_schematic.bin").write_bytes(b"QNNSTANDIN-SCHEMATIC\n")
    if "binary_file" not in values:
        return  # and all is said to be well
    head: Meta = {
        "sdk": version.version,
        "build_id": version.build_id,
        "core_api": version.core_api,
        "backend_api": version.backend_api,
        "blob_version": version.blob_version,
        "arch": chosen.arch,
        "soc_model": 0 if switch(root, "soc_model_is_lost") else chosen.soc_model,
        "soc_type": chosen.soc_type,
        "share_weights": chosen.share_weights,
        "graphs": [_graph(model, chosen) for model in made],
    }
    if switch(root, "prepares_differ"):
        head["nonce"] = os.urandom(8).hex()
    path = out / f"{values['binary_file']}.bin"  # an absolute name wins over the folder
    context_file.write(path, head, [model.weights for model in made], share=chosen.share_weights)


def _graph(model: Model, chosen: Chosen) -> Meta:
    bound = chosen.graphs.get(model.meta["graph"], Bound())
    return {**bound._asdict(), "meta": model.meta, "weights_size": len(model.weights)}
