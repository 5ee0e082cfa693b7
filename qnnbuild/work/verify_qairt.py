"""verify for Qualcomm's SDK: qnn-net-run runs the very binary that ships, on the host.

`--retrieve_context` and not `--model`: the SDK's libQnnHtp.so for x86-64 loads binaries of every
HTP generation (measured with the one of 2.51, and Google's notes on running LiteRT models with
these tools have an SM8850 answer exactly as the host does), and the library would be compiled once
more, with settings that nobody has read back.

Inputs and outputs are files in the binary's own types, as an app hands them over. The tool ends
well after much that is not: what it wrote is counted and weighed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.digest import digest_file
from qnnbuild.formats.context_json import ReadContext, ReadGraph
from qnnbuild.work.answers import compared
from qnnbuild.work.arrays import array_files, sample_name
from qnnbuild.work.npz import Array, read_npz, write_npz
from qnnbuild.work.qairt_context import (
    LIBRARIES,
    OUTER_PATH,
    check_taken,
    chip_wrong,
    read_back,
    write_htp_files,
)
from qnnbuild.work.qairt_sdk import HOST, Ended, Sdk, run_tool, sdk_here
from qnnbuild.work.qairt_tensors import Border, Kept, inputs_of, outputs_of
from qnnbuild.work.read_back import not_good
from qnnbuild.work.reference import REFERENCE
from qnnbuild.work.run import Run

NET_RUN = f"{{sdk}}/bin/{HOST}/qnn-net-run"
SAMPLES = Path("samples")
INPUT_LIST = Path("input_list.txt")
RESULTS = Path("results")

FAILED = (
    "Device Creation failure",
    "Create From Binary failure",
    "Graph Finalize failure",
    "Graph Execution failure",
)
"""What it says, whatever its exit code."""

NOT_GOOD = 5


def verify(run: Run) -> None:
    """Inputs "context", "facts", "samples", "reference" (and "recorded") → "outputs", "numbers".

    `params`: graph, stem, soc_model, arch, keeps_layout, keeps_all, htp (what the HTP is told of
    its chip), op_packages.
    """
    sdk = sdk_here()
    path = run.inputs["context"] / f"{run.params['stem']}.bin"
    facts = facts_of(run, path)
    read = read_back(run, sdk, path)
    graph = checked(run, read, facts["graph"])
    said = json.loads((run.inputs["reference"] / REFERENCE).read_text(encoding="utf-8"))
    samples = [read_npz(file) for file in array_files(run.inputs["samples"])]
    inputs = inputs_of(samples[0], graph.inputs, by_name(facts["inputs"]), kept(run.params))
    outputs = outputs_of(
        shapes_of(run, said), graph.outputs, by_name(facts["outputs"]), kept(run.params)
    )
    lines = write_inputs(SAMPLES, samples, inputs)
    INPUT_LIST.write_text("".join(lines), encoding="utf-8", newline="\n")
    ended = _run(run, sdk, path)
    for number in range(len(samples)):
        answers = _answers(number, outputs, ended)
        _check_finite(run, number, answers, ended)
        write_npz(run.outputs["outputs"] / sample_name(number), _as_asked(run, said, answers))
    numbers = {**_told(run, path, read, facts), **compared(run, said)}
    text = json.dumps(numbers, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["numbers"] / "numbers.json").write_text(text + "\n", encoding="utf-8")


def facts_of(run: Run, path: Path) -> dict[str, Any]:
    """What was read back when the binary was compiled, which it still is to the byte."""
    told = run.inputs["facts"] / f"{run.params['stem']}.json"
    facts: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
    wanted = facts["files"].get(path.name, {}).get("digest", "none")
    found = digest_file(path) if path.is_file() else "no such file"
    if found != wanted:
        raise not_good(
            f"{path.name} is not the file that was compiled",
            facts=[("sha256", found), ("compiled", wanted)],
        )
    return facts


def checked(run: Run, read: ReadContext, inner: str) -> ReadGraph:
    """The graph in the binary, which is for the chip; `inner` is what it was compiled as."""
    if wrong := [*chip_wrong(run.params, read)]:
        raise not_good("the binary is for another chip", facts=wrong)
    graph = next((one for one in read.graphs if one.name == inner), None)
    if graph is None or len(read.graphs) > 1:
        raise not_good(
            f"the binary to be run has to hold '{inner}' alone",
            facts=[("it holds", ", ".join(one.name for one in read.graphs) or "nothing")],
        )
    return graph


def kept(params: Mapping[str, Any]) -> Kept:
    return Kept(names=params["keeps_layout"], all=params["keeps_all"])


def by_name(tensors: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {tensor["name"]: tensor for tensor in tensors}


def write_inputs(
    folder: Path,
    samples: Sequence[Mapping[str, Array]],
    inputs: Sequence[Border],
    there: str = "",
) -> list[str]:
    """Raw files, and for each sample its line of the list: names, since there may be several.

    The paths are relative, and so from wherever the tool runs: no path may have a blank in it.
    `there` is the folder in which a phone has the files.
    """
    folder.mkdir(exist_ok=True)  # ./again may be run again
    lines = []
    for number, sample in enumerate(samples):
        words = []
        for place, border in enumerate(inputs):
            path = folder / f"{number:06}-{place}.raw"
            path.write_bytes(border.native(sample[border.name]))
            shown = f"{there}/{path.name}" if there else path.as_posix()
            words.append(f"{border.tensor.name}:={shown}")
        lines.append(" ".join(words) + "\n")
    return lines


def shapes_of(run: Run, said: Mapping[str, Any]) -> dict[str, tuple[int, ...] | None]:
    """Of the outputs, as the original has them; of a model that nobody can run none is known."""
    files = array_files(run.inputs["reference"])
    known = read_npz(files[0]) if files else {}
    if not known and "recorded" in run.inputs:
        recorded = array_files(run.inputs["recorded"])
        known = read_npz(recorded[0]) if recorded else {}
    return {name: known[name].shape if name in known else None for name in said["outputs"]}


def _run(run: Run, sdk: Sdk, path: Path) -> Ended:
    write_htp_files(sdk, run.params["htp"])
    argv = [NET_RUN, "--backend", f"{LIBRARIES}/libQnnHtp.so"]
    argv += ["--retrieve_context", path.as_posix(), "--input_list", INPUT_LIST.as_posix()]
    argv += ["--output_dir", RESULTS.as_posix(), "--config_file", OUTER_PATH]
    argv += ["--use_native_input_files", "--use_native_output_files"]
    argv += ["--op_packages", run.params["op_packages"]] if "op_packages" in run.params else []
    ended = run_tool(run, sdk, argv)
    check_taken(ended, "qnn-net-run")
    for line in ended.lines:
        if any(word in line for word in FAILED):
            raise ended.failure(f"qnn-net-run ended well and said: {line.strip()}", exit_code=5)
    return ended


def _answers(number: int, outputs: Sequence[Border], ended: Ended) -> dict[str, Array]:
    """What it wrote for one sample, by the model's names."""
    folder = RESULTS / f"Result_{number}"
    if not folder.is_dir():
        there = sorted(path.name for path in RESULTS.glob("*")) if RESULTS.is_dir() else []
        raise ended.failure(
            f"qnn-net-run ended well and wrote no {folder.name}",
            facts=[("it wrote", ", ".join(there) or "nothing")],
            exit_code=NOT_GOOD,
        )
    return {border.name: _answer(folder, border, ended) for border in outputs}


def _answer(folder: Path, border: Border, ended: Ended) -> Array:
    """`<tensor>_native.raw`; some versions leave `_native` out, where floats may be meant."""
    name = border.tensor.name
    native, plain = folder / f"{name}_native.raw", folder / f"{name}.raw"
    path = native if native.is_file() else plain
    if not path.is_file():
        there = sorted(one.name for one in folder.iterdir())
        raise ended.failure(
            f"qnn-net-run wrote no answer for the output '{border.name}'",
            facts=[("looked for", native.name), ("it wrote", ", ".join(there) or "nothing")],
            exit_code=NOT_GOOD,
        )
    data = path.read_bytes()
    if len(data) == border.nbytes:
        return border.plain(data)
    if path is plain and len(data) == border.count * np.dtype(np.float32).itemsize:
        return border.plain(data, is_native=False)
    sizes = ", ".join(map(str, border.tensor.shape))
    raise ended.failure(
        f"qnn-net-run wrote {len(data)} bytes for the output '{border.name}', "
        f"which has {border.nbytes}",
        facts=[("file", path.as_posix()), ("binary", f"{border.tensor.dtype} [{sizes}]")],
        exit_code=NOT_GOOD,
    )


def _check_finite(run: Run, number: int, answers: Mapping[str, Array], ended: Ended) -> None:
    """Nothing is lost that the original has; without it, nothing at all."""
    file = run.inputs["reference"] / sample_name(number)
    reference = read_npz(file) if file.is_file() else {}
    for name, answer in answers.items():
        if answer.dtype.kind != "f":
            continue
        lost = ~np.isfinite(answer)
        if name in reference and reference[name].shape == answer.shape:
            lost &= np.isfinite(reference[name])
        if count := int(np.count_nonzero(lost)):
            raise ended.failure(
                f"{count} of {answer.size} values of the output '{name}' are NaN or infinite",
                facts=[("sample", str(number))],
                hint="fp16 ends at 65504: w8a16, or a scale inside of the model",
                exit_code=NOT_GOOD,
            )


def _as_asked(run: Run, said: Mapping[str, Any], answers: Mapping[str, Array]) -> dict[str, Array]:
    """In the original's types: int64 is int32 in the binary, a bool a byte."""
    files = array_files(run.inputs["reference"])
    known = read_npz(files[0]) if files else {}
    found = {}
    for name, answer in answers.items():
        kind = said["outputs"][name]
        if kind["kind"] == "quantized" and answer.dtype.kind == "f":
            found[name] = np.rint(answer / kind["scale"]) + kind["zero_point"]
        elif kind["kind"] == "exact" and name in known:
            found[name] = answer.astype(known[name].dtype)
        else:
            found[name] = answer
    return found


def _told(run: Run, path: Path, read: ReadContext, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "graph": run.params["graph"],
        "chip": {
            "soc_model": read.soc_model,
            "soc_type": None,
            "arch": read.arch,
        },
        "sdk_build": read.build,
        "ran_on": {"host": "HTP emulator", "nodes": {"qnn-net-run": facts["nodes"]}},
        "binary": {path.name: digest_file(path)},
    }
