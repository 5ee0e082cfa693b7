"""convert by Qualcomm's newer tools: qairt-converter makes a DLC, qairt-quantizer another of it.

A DLC keeps the layouts of the ONNX file. The graph in it is called as the file was when it was
converted, whatever the file is called later: quantizing does not rename it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import same_version
from qnnbuild.formats.tensor import GraphFacts, TensorFacts
from qnnbuild.work.dlc_files import graph_in, made_by, read, same_bytes
from qnnbuild.work.feeds import feed_files, read_feeds
from qnnbuild.work.qairt_convert import ENCODINGS, INPUT_LIST, inputs_of, sdk_name
from qnnbuild.work.qairt_samples import FOLDER
from qnnbuild.work.qairt_sdk import HOST, Ended, Sdk, run_tool, sdk_here, version_of
from qnnbuild.work.run import Run, WorkError

CONVERTER, QUANTIZER = "qairt-converter", "qairt-quantizer"


def convert(run: Run) -> None:
    """Inputs "model" (ONNX), and "encodings" where the recipe has them → output "model".

    `params`: stem, argv (the converter's words), relaid (inputs that get another layout), loses
    (whether inputs that nothing reads go).
    """
    sdk = sdk_here()
    argv = list(run.params["argv"])
    if ENCODINGS in argv:
        (file,) = (path for path in run.inputs["encodings"].rglob("*") if path.is_file())
        argv[argv.index(ENCODINGS)] = file.as_posix()
    ended = run_tool(run, sdk, [*_tool(CONVERTER), *argv])
    graph = _looked_at(run, sdk, ended, CONVERTER)
    for one in inputs_of(run.inputs["model"] / "model.onnx") if graph is not None else ():
        assert graph is not None
        tensor = _in_dlc(one.name, graph)
        if tensor is None and run.params["loses"]:
            continue
        if tensor is None:
            raise ended.failure(
                f"the converted graph has no input '{one.name}'",
                facts=[("it has", ", ".join(found.name for found in graph.inputs) or "none")],
                place=f"inputs.{one.name}",
            )
        if one.name not in run.params["relaid"] and tensor.shape != one.shape:
            raise ended.failure(
                f"the converter gave the input '{one.name}' other sizes",
                facts=[("model", _sizes(one.shape)), ("converted", _sizes(tensor.shape))],
                place=f"inputs.{one.name}",
            )


def quantize(run: Run) -> None:
    """Inputs "model" (DLC), and "feeds" to measure → outputs "model" and "quantization".

    `params`: stem, argv (the quantizer's words), dlc (the file in "model"), keeps_types.
    """
    sdk = sdk_here()
    before = _graph_of(run.inputs["model"] / run.params["dlc"])
    count = 0
    if "feeds" in run.inputs:
        count = write_samples(run.inputs["feeds"], before.inputs if before else None)
    ended = run_tool(run, sdk, [*_tool(QUANTIZER), *run.params["argv"]])
    after = _looked_at(run, sdk, ended, QUANTIZER)
    known = before is not None and after is not None
    if known and not run.params["keeps_types"] and _types(before) == _types(after):
        run.warn(
            f"{QUANTIZER} left the types of all inputs and outputs as they were", place="precision"
        )
    told = {
        "by": QUANTIZER,
        "samples": count,
        "types": _types(after),
        "compared": "the SDK's quantizer gives no model that the CPU could run",
    }
    text = json.dumps(told, indent=1, sort_keys=True)
    (run.outputs["quantization"] / "quantization.json").write_text(text + "\n", encoding="utf-8")


def write_samples(feeds: Path, inputs: Sequence[TensorFacts] | None) -> int:
    """Raw files as the DLC has its inputs, and the list of them; how many samples there are.

    Several inputs are named: nobody says in which order a DLC has them. Of a DLC that cannot be
    read, they are those of the samples.
    """
    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    files = feed_files(feeds)
    inputs = _of_sample(files[0]) if inputs is None else inputs
    names = _source_names(files[0], inputs)
    lines = []
    for number, sample in enumerate(read_feeds(files, list(names.values()))):
        words = []
        for place, one in enumerate(inputs):
            path = folder / f"{number:06}-{place}.raw"
            array = _as_in_dlc(sample[names[one.name]], one)
            path.write_bytes(np.ascontiguousarray(array).tobytes())
            named = f"{one.name}:=" if len(inputs) > 1 else ""
            words.append(f"{named}{path.as_posix()}")
        lines.append(" ".join(words) + "\n")
    INPUT_LIST.write_text("".join(lines), encoding="utf-8", newline="\n")
    return len(lines)


def _as_in_dlc(array: np.ndarray, one: TensorFacts) -> np.ndarray:
    """In the type that the DLC has: the quantizer reads that. A converter may make int64 int32."""
    if array.shape != one.shape:
        raise WorkError(
            f"a sample of '{one.name}' has other sizes than the DLC",
            place="calibration",
            facts=[("sample", _sizes(array.shape)), ("DLC", _sizes(one.shape))],
            hint="a layout that the converter changes is for graphs without calibration",
        )
    wanted = np.dtype(one.dtype).newbyteorder("<")
    made = array.astype(wanted)
    if array.dtype.kind in "iu" and not np.array_equal(made, array):
        raise WorkError(
            f"a sample of '{one.name}' does not fit into {one.dtype}, which the DLC has",
            place="calibration",
        )
    return made


def _of_sample(file: Path) -> list[TensorFacts]:
    with np.load(file, allow_pickle=False) as data:
        return [
            TensorFacts(name=name, dtype=data[name].dtype.name, shape=data[name].shape)
            for name in data.files
        ]


def _source_names(file: Path, inputs: Sequence[TensorFacts]) -> dict[str, str]:
    """Name in the DLC → name in the samples, of which the SDK may have made another."""
    with np.load(file, allow_pickle=False) as data:
        known = {**{sdk_name(name): name for name in data.files}, **{n: n for n in data.files}}
    return {one.name: known.get(one.name, one.name) for one in inputs}


def _looked_at(run: Run, sdk: Sdk, ended: Ended, tool: str) -> GraphFacts | None:
    """The graph of the DLC that was made. Exit code 0 without one has been seen.

    None of a DLC in another form than those that are known: the binary tells then.
    """
    stem = run.params["stem"]
    path = run.outputs["model"] / f"{stem}.dlc"
    if not path.is_file() or not path.stat().st_size:
        raise ended.failure(f"{tool} ended well and did not write {path.name}")
    try:
        same_bytes(path)
        facts, graph = read(path), graph_in(path)
    except FormatError as error:
        raise ended.failure(f"{path.name} is not whole: {error}", exit_code=5) from None
    if graph is None:
        run.warn(
            f"{path.name} is of a form that cannot be read here: names and sizes are checked in "
            "the binary only",
            place="toolchain",
        )
    elif graph.name != stem:
        raise ended.failure(
            f"the graph in {path.name} is called '{graph.name}'",
            facts=[("asked for", stem)],
            hint="the HTP's settings count for a graph of the name that they have, and for no "
            "other: another version of the SDK, or route: cpp",
            exit_code=5,
        )
    version = version_of(sdk)
    maker = made_by(facts)
    if maker is not None and not same_version(version, maker):
        raise ended.failure(
            f"{path.name} was made by another version of the SDK",
            facts=[("DLC", maker), ("SDK", version)],
            exit_code=5,
        )
    return graph


def _graph_of(path: Path) -> GraphFacts | None:
    try:
        return graph_in(path)
    except (FormatError, OSError) as error:
        raise WorkError(f"{path.name} is not whole: {error}", place="graph", exit_code=5) from None


def _in_dlc(name: str, graph: GraphFacts) -> TensorFacts | None:
    return next((one for one in graph.inputs if one.name in (name, sdk_name(name))), None)


def _types(graph: GraphFacts | None) -> dict[str, str]:
    if graph is None:
        return {}
    return {one.name: one.dtype for one in (*graph.inputs, *graph.outputs)}


def _tool(name: str) -> tuple[str, str]:
    return "{python}", f"{{sdk}}/bin/{HOST}/{name}"


def _sizes(shape: Sequence[int | str]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
