"""Runs a graph of this bundle as its manifest.json says.

On Windows or Linux on arm64 with the NPU; on Linux on x86-64 the HTP emulator computes the chip's
numbers, slowly. Needs Python 3.11, numpy, onnxruntime, onnxruntime-qnn. This file is Apache-2.0.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
import timeit
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Args = argparse.Namespace
Manifest = Mapping[str, Any]
Graph = Mapping[str, Any]
Options = dict[str, str]
Arrays = dict[str, Any]  # name → numpy array

RUN: dict[str, dict[str, Options]] = {}  # graph → its options, as manifest.json has them
HERE = Path(__file__).resolve().parent
PROVIDER, CPU = "QNNExecutionProvider", "CPUExecutionProvider"
FALLBACK, LORA = "session.disable_cpu_ep_fallback", "qnn.lora_config"
WRONG_USE, NOTHING_LIKE_IT, CANNOT_RUN, NOT_GOOD = 2, 3, 4, 5

DEVICE_ONLY = (
    *("device_id", "enable_htp_shared_memory_allocator", "htp_share_resource_optimization"),
    "enable_vtcm_backup_buffer_sharing",
)
"""Provider options with which the emulator creates no session: onnxruntime-qnn 2.7.0."""

EPILOG = """\
exit codes: 0 it ran; 2 wrong use; 3 no such graph, file or array; 4 it cannot run here;
5 the files, or where the nodes ran, are not as manifest.json says

profiles: --profile writes profile.csv and profile_qnn.log. Qualcomm's SDK has the viewer:
  qnn-profile-viewer --input_log profile_qnn.log --output layers.csv
with --profile optrace, and the schematic that `dumps: [schematic]` of a recipe gives:
  qnn-profile-viewer --config config.json --reader libQnnHtpOptraceProfilingReader.so \\
    --input_log profile_qnn.log --schematic NAME_schematic.bin --output optrace.json
(on Windows qnn-profile-viewer.exe and QnnHtpOptraceProfilingReader.dll)
"""


class Stop(Exception):
    """What ends the program, in words, and with which exit code."""

    def __init__(self, said: str, exit_code: int) -> None:
        super().__init__(said)
        self.exit_code = exit_code


class Opened(NamedTuple):
    """A session, how it is run, and whether the emulator does it."""

    session: Any
    run_options: Any
    emulated: bool


def main(words: Sequence[str] | None = None) -> int:
    try:
        _run(_parser().parse_args(words))
    except Stop as stop:
        sys.stderr.write(f"run.py: {stop}\n")
        return stop.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("run.py", None, __doc__, EPILOG, formatter_class=form)
    add = parser.add_argument
    add("--graph", metavar="NAME", help="which graph; may be left out when there is one")
    add("--lora", metavar="NAME", help="the adapter for this run; none: as it was compiled")
    feed = parser.add_mutually_exclusive_group().add_argument
    feed("--inputs", metavar="PATH", help="an .npz with an array for each input, or a folder")
    feed("--random", metavar="SEED", type=int, help="random inputs, alike everywhere (usual: 0)")
    add("--output", type=Path, help="where answers go: an .npz, or a folder for a folder")
    add("--repeat", metavar="N", type=int, help="run the first inputs N times more and time it")
    add("--compare", type=Path, help="the answers that are wanted: an .npz, or a folder")
    add("--profile", choices=("basic", "detailed", "optrace"), help="measure; read on below")
    add("--profile-file", type=Path, default="profile.csv", help="(usual: profile.csv)")
    add("--check", action="store_true", help="compare all files with their sha256, run nothing")
    add("--verbose", action="store_true", help="show all that the runtime says")
    return parser


def _run(args: Args) -> None:
    manifest = _manifest()
    if args.check:
        _check_files(manifest, manifest["files"])
        return
    if args.repeat is not None and args.repeat < 1:
        raise Stop("--repeat wants 1 or more", WRONG_USE)
    name, graph = _graph(manifest, args)
    chips = (chip["name"] for chip in manifest["chips"])
    _say(f"{manifest['model']} for {', '.join(chips)}, graph {name}")
    _check_files(manifest, [*graph["files"], *_named_files(manifest, graph)])
    fed = dict(_samples(args, graph))
    for option in ("output", "compare", "profile_file"):
        setattr(args, option, (given := getattr(args, option)) and given.absolute())
    os.chdir(HERE)  # a path in the manifest is one of the bundle
    ort = _runtime()
    with tempfile.TemporaryDirectory() as scratch:
        opened = _open(ort, manifest, graph, args, Path(scratch))
        answers = {}
        for sample, arrays in fed.items():
            answers[sample] = _answer(opened, arrays)
            if len(answers) == 1:
                _check_providers(Path(opened.session.end_profiling()), graph)
    _tell(answers)
    if args.repeat:
        _time(opened, next(iter(fed.values())), args.repeat)
    if args.output:
        _write(args.output, answers, folder=bool(args.inputs) and Path(args.inputs).is_dir())
    if args.compare:
        _compare(answers, args.compare)


def _manifest() -> Manifest:
    try:
        return dict(json.loads((HERE / "manifest.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise Stop(f"manifest.json beside run.py cannot be read: {error}", NOT_GOOD) from None


def _graph(manifest: Manifest, args: Args) -> tuple[str, Graph]:
    graphs, wanted = manifest["graphs"], args.graph
    listed = ", ".join(graphs)
    if wanted is None and len(graphs) > 1:
        raise Stop(f"which graph? --graph is one of {listed}", WRONG_USE)
    name = wanted or next(iter(graphs))
    if name not in graphs:
        raise Stop(f"there is no graph '{name}'; there is {listed}", NOTHING_LIKE_IT)
    if not graphs[name]["onnx"]:
        raise Stop(f"'{name}' has no .onnx file: it is for the QNN runtime alone", CANNOT_RUN)
    return name, _with_adapter({**graphs[name], "run": RUN[name]}, args.lora)


def _named_files(manifest: Manifest, graph: Graph) -> Iterator[str]:
    """Files of the bundle that an option names."""
    for options in graph["run"].values():
        for name, value in options.items():
            if value in manifest["files"]:
                yield value
            elif name == LORA:  # without it the plugin would run the model as if nothing were asked
                raise Stop(f"{LORA}: '{value}' is no file of this bundle", NOT_GOOD)


def _with_adapter(graph: Graph, wanted: str | None) -> Graph:
    """The graph with the LoRA that is asked for, in place of the usual one."""
    adapters = graph.get("lora", {"adapters": {}})["adapters"]
    if wanted not in (None, "none", *adapters):
        raise Stop(
            f"no adapter '{wanted}'; there is {', '.join(adapters) or 'none'}", NOTHING_LIKE_IT
        )
    options = {k: v for k, v in graph["run"]["run_options"].items() if k != LORA or wanted is None}
    options |= {LORA: adapters[wanted]["config"]} if wanted in adapters else {}
    return {**graph, "run": {**graph["run"], "run_options": options}}


def _check_files(manifest: Manifest, names: Iterable[str]) -> None:
    """Another model's binary with the same inputs and outputs would answer without a word."""
    checked = list(dict.fromkeys(names))
    for name in checked:
        path = HERE / name
        if not path.is_file():
            raise Stop(f"'{name}' of this bundle is missing", NOT_GOOD)
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != (wanted := manifest["files"][name]["sha256"]):
            said = f"its sha256 is {found}, manifest.json says {wanted}"
            raise Stop(f"'{name}' is not the file of this bundle: {said}", NOT_GOOD)
    _say(f"files: {len(checked)}, each as manifest.json says")


def _runtime() -> Any:
    try:
        import onnxruntime
        import onnxruntime_qnn
    except ImportError as error:
        raise Stop(f"{error}: pip install onnxruntime onnxruntime-qnn", CANNOT_RUN) from None
    onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
    return onnxruntime


def _open(ort: Any, manifest: Manifest, graph: Graph, args: Args, scratch: Path) -> Opened:
    """A session with all that the manifest says for this graph."""
    run = dict(graph["run"])
    emulated = platform.machine().lower() in {"x86_64", "amd64"}
    run["provider_options"] = _provider_options(manifest, graph, args, emulated=emulated)
    options, run_options = ort.SessionOptions(), ort.RunOptions()
    options.log_severity_level = 0 if args.verbose else 3  # errors only
    options.enable_profiling = True  # it tells which provider ran which node
    options.profile_file_prefix = str(scratch / "nodes")
    for name, value in run["session_options"].items():
        options.add_session_config_entry(name, value)
    for name, value in run["run_options"].items():
        run_options.add_run_config_entry(name, value)
    devices = _devices(ort, run["provider_options"].get("backend_type"))
    options.add_provider_for_devices(devices, run["provider_options"])
    _say(f"on: {'the HTP emulator' if emulated else devices[0].device.type.name}")
    for kind, given in run.items():
        if given:
            _say(f"{kind}: {', '.join(f'{name}={value}' for name, value in given.items())}")
    began = time.perf_counter()
    try:
        session = ort.InferenceSession(graph["onnx"], options)
        session.disable_fallback()  # else what failed is run once more, on the CPU, without a word
        if run["dynamic_options"]:
            session.set_ep_dynamic_options(dict(run["dynamic_options"]))
    except Exception as error:  # noqa: BLE001  # whatever it is, the user reads it
        raise Stop(f"the runtime does not load it: {_one_line(error)}", CANNOT_RUN) from None
    _say(f"loaded in {time.perf_counter() - began:.2f} s")
    return Opened(session, run_options, emulated)


def _provider_options(manifest: Manifest, graph: Graph, args: Args, *, emulated: bool) -> Options:
    options = dict(graph["run"]["provider_options"])
    if emulated:
        if options.get("backend_type") != "htp" or "op_packages" in options:
            said = "on a GPU, by Genie, or with its own operators"
            raise Stop(f"only a device runs it: {said}", CANNOT_RUN)
        if len(manifest["chips"]) > 1 and "chips" in graph["context"]:
            raise Stop("the binary is for several chips; the emulator loads none such", CANNOT_RUN)
        for name in sorted(options.keys() & DEVICE_ONLY):
            _say(f"left out, since the emulator has no such thing: {name}={options.pop(name)}")
        if graph.get("context", {}).get("shared"):
            raise Stop("the emulator cannot load a binary with shared weights", CANNOT_RUN)
        options["soc_model"] = str(manifest["chips"][0]["soc_model"])
    options |= {"profiling_level": args.profile} if args.profile else {}
    if options.get("profiling_level", "off") != "off":
        options["profiling_file_path"] = str(args.profile_file)
    return options


def _devices(ort: Any, backend: str | None) -> list[Any]:
    """The NPU or GPU, where the runtime knows it as one; else what the plugin offers."""
    found = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    if not found:
        raise Stop("onnxruntime-qnn finds nothing here that it can run on", CANNOT_RUN)
    kind = getattr(ort.OrtHardwareDeviceType, "GPU" if backend == "gpu" else "NPU")
    return [one for one in found if one.device.type == kind] or found


def _samples(args: Args, graph: Graph) -> Iterator[tuple[str, Arrays]]:
    """File name → an array for each input."""
    if not args.inputs:
        seed = args.random or 0
        _say(f"inputs: random, seed {seed}")
        yield f"random-{seed}.npz", {one["name"]: _random(one, seed) for one in graph["inputs"]}
        return
    path = Path(args.inputs)
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if not files:
        raise Stop(f"the folder '{path}' has no .npz file", NOTHING_LIKE_IT)
    _say(f"inputs: {args.inputs}" + (f", {len(files)} files" if len(files) > 1 else ""))
    for file in files:
        arrays = _read(file)
        yield file.name, {one["name"]: _fitting(arrays, one, file) for one in graph["inputs"]}


def _random(one: Graph, seed: int) -> Any:
    """A build's own random numbers: from PCG64's raw stream, which is the same in every numpy."""
    dtype, shape = np.dtype(one["dtype"]), [1 if isinstance(n, str) else n for n in one["shape"]]
    digest = hashlib.sha256(f"{one['name']}/{seed}".encode()).digest()
    raw = np.random.PCG64(int.from_bytes(digest[:16], "big")).random_raw(math.prod(shape))
    unit = (np.asarray(raw, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    whole = dtype.kind in "iub"
    low, high = one.get("range") or ((0, 1) if whole else (-1.0, 1.0))
    numbers = np.floor(low + unit * (high - low + 1)) if whole else low + unit * (high - low)
    return numbers.astype(dtype).reshape(shape)


def _read(file: Path) -> Arrays:
    try:
        with np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (OSError, ValueError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise Stop(f"'{file}' is no .npz to read: {error}", NOTHING_LIKE_IT) from None


def _fitting(arrays: Arrays, wanted: Graph, file: Path) -> Any:
    name, dtype, shape = wanted["name"], np.dtype(wanted["dtype"]), tuple(wanted["shape"])
    if name not in arrays:
        has = ", ".join(arrays) or "none"
        raise Stop(f"'{file}' has no array for the input '{name}'; it has {has}", NOTHING_LIKE_IT)
    array = arrays[name]
    fits = array.shape == shape or not all(isinstance(size, int) for size in shape)
    if not fits or not np.can_cast(array.dtype, dtype, "same_kind"):
        said = f"is {array.dtype} {list(array.shape)}, wanted is {dtype} {list(shape)}"
        raise Stop(f"'{file}': '{name}' {said}", NOTHING_LIKE_IT)
    return array.astype(dtype)


def _answer(opened: Opened, arrays: Arrays) -> Arrays:
    names = [value.name for value in opened.session.get_outputs()]
    try:
        answers = opened.session.run(names, arrays, opened.run_options)
    except Exception as error:  # noqa: BLE001  # whatever it is, the user reads it
        raise Stop(f"the run failed: {_one_line(error)}", CANNOT_RUN) from None
    return dict(zip(names, answers, strict=True))


def _check_providers(profile: Path, graph: Graph) -> None:
    """Which provider ran how many nodes, as the runtime has written it down."""
    ran: dict[str, set[str]] = {}
    for event in json.loads(profile.read_text(encoding="utf-8")):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            ran.setdefault(event["args"].get("provider", "?"), set()).add(event["name"])
    _say("nodes: " + ", ".join(f"{name} {len(nodes)}" for name, nodes in sorted(ran.items())))
    if PROVIDER not in ran or (CPU in ran and graph["run"]["session_options"].get(FALLBACK) == "1"):
        raise Stop("it did not run there alone", NOT_GOOD)


def _tell(answers: Mapping[str, Arrays]) -> None:
    for sample, arrays in answers.items():
        for name, array in arrays.items():
            ends = f", {array.min():g} to {array.max():g}" if array.size else ""
            _say(f"{sample}: {name} {array.dtype} {list(array.shape)}{ends}")


def _time(opened: Opened, arrays: Arrays, times: int) -> None:
    seconds = timeit.repeat(lambda: _answer(opened, arrays), number=1, repeat=times)
    took = [1000 * second for second in seconds]
    ends = f"{min(took):.3f} to {max(took):.3f}"
    means = "; on the emulator this says nothing about the chip" if opened.emulated else ""
    _say(f"{times} runs: median {statistics.median(took):.3f} ms, {ends}{means}")


def _write(output: Path, answers: Mapping[str, Arrays], *, folder: bool) -> None:
    for sample, arrays in answers.items():
        path = output / sample if folder else output
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                np.savez(file, **arrays)
        except OSError as error:
            raise Stop(f"'{path}' cannot be written: {error.strerror}", CANNOT_RUN) from None
        _say(f"written: {path}")


def _compare(answers: Mapping[str, Arrays], wanted: Path) -> None:
    """The numbers that a build's verify tells, over all samples."""
    references = {name: _read(wanted / name if wanted.is_dir() else wanted) for name in answers}
    for name in next(iter(answers.values())):
        pairs = []
        for sample, arrays in answers.items():
            theirs = references[sample].get(name)
            if theirs is None or theirs.shape != arrays[name].shape:
                has = f"output '{name}' is {list(arrays[name].shape)}, in '{wanted}' "
                there = "not there" if theirs is None else str(list(theirs.shape))
                raise Stop(has + there, NOTHING_LIKE_IT)
            pairs.append((arrays[name], theirs))
        _say(f"{name}: {_difference(pairs)}")


def _difference(pairs: Sequence[tuple[Any, Any]]) -> str:
    """SQNR = 10·log10(Σ reference² / Σ error²), where the reference is finite."""
    ours, theirs = (np.concatenate([np.ravel(p[i]) for p in pairs]) for i in (0, 1))
    judged = np.isfinite(theirs.astype(np.float64))
    a, b = ours.astype(np.float64)[judged], theirs.astype(np.float64)[judged]
    largest = np.max(np.abs(error := a - b), initial=0.0)
    if theirs.dtype.kind in "iub":
        return f"{np.count_nonzero(error)} of {error.size} differ, by at most {largest:g}"
    signal, noise = float(b @ b), float(error @ error)
    if noise == 0:
        return f"equal, {error.size} numbers"
    sqnr = 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf
    cosine = float(a @ b) / (math.sqrt(signal * float(a @ a)) or math.inf)
    return f"SQNR {sqnr:.6g} dB, largest error {largest:.6g}, cosine {cosine:.8f}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:600]


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
