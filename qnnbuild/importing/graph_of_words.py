"""One call of the converter → the description of its graph. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from qnnbuild.importing.carried import Row, carried, left
from qnnbuild.importing.converter_words import Converted
from qnnbuild.importing.described import DescribedGraph, DescribedInput
from qnnbuild.importing.holes import as_placeholders, holes_in, shown
from qnnbuild.importing.recipe_text import Remarked, Value, flow
from qnnbuild.model.precisions import WORDS

Locate = Callable[[str], str | None]
"""A path of the script → the same file seen from the recipe; None when it is not in the repo."""

DEFAULT_BITS = 8
"""What the converter takes for weights, activations and biases that no flag is about."""

TAKEN = {"weights": (4, 8, 16), "activations": (8, 16), "bias": (8, 32)}
DTYPES = (
    *("float32", "float16", "float64", "int64", "int32", "int16", "int8"),
    *("uint64", "uint32", "uint16", "uint8", "bool"),
)
BITS = {"weights": "weights_bitwidth", "activations": "act_bitwidth", "bias": "bias_bitwidth"}
WIDTHS = ("act_bitwidth", "weights_bitwidth", "bias_bitwidth", "float_bitwidth")


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """What a recipe can say of paths and loops."""

    axes: Collection[str]
    locate: Locate


def graph_of(call: Converted, name: str, where: Whereabouts) -> tuple[DescribedGraph, list[Row]]:
    """The graph, and a row for each of the words that a recipe has its own for."""
    rows = [*call.rows]
    graph = DescribedGraph(name=name, remark=f"from {call.at}")
    at = f"graphs.{name}"
    _source(graph, call, where, rows)
    _inputs(graph, call, where, rows)
    if outputs := [values[0] for values in call.said.get("out_node", [])]:
        filled = [_filled(text, where, call, rows, f"--out_node {shown(text)}") for text in outputs]
        graph.outputs = [text for text in filled if text] or None
        if graph.outputs:
            rows.append(carried(call.at, f"--out_node {shown(' '.join(outputs))}", f"{at}.outputs"))
    _precision(graph, call, where, rows)
    if call.options:
        graph.options = {"qairt": {"converter": dict(call.options)}}
    return graph, rows


def _source(graph: DescribedGraph, call: Converted, where: Whereabouts, rows: list[Row]) -> None:
    written = call.one("input_network")
    path, is_there = file_of(written, where, "onnx", f"{graph.name}.onnx")
    graph.source = {"file": path}
    became = f"graphs.{graph.name}.source: {{file: {path}}}"
    rows.append(carried(call.at, f"--input_network {shown(written)}", became))
    if not is_there:
        graph.source = Remarked({"file": path}, f"put the ONNX file there: {shown(written)}")
        todo = f"put the ONNX file at {path}, seen from the recipe, or say source: {{export: …}}"
        rows.append(left(call.at, shown(written), "the file is not in the repo", todo))


def file_of(written: str, where: Whereabouts, folder: str, otherwise: str) -> tuple[str, bool]:
    """The path as the recipe has it, and whether the file is there."""
    if written and (found := where.locate(written)) is not None:
        return found, True
    parts = [part for part in written.split("/") if part not in ("", ".", "..")]
    begins = next((i for i, part in enumerate(parts) if set(holes_in(part)) & {*where.axes}), -1)
    try:
        name = as_placeholders("/".join(parts[begins:]), where.axes) or otherwise
    except KeyError:
        name = otherwise
    return f"../{folder}/{name}", False


def _inputs(graph: DescribedGraph, call: Converted, where: Whereabouts, rows: list[Row]) -> None:
    for flag, name, value in _of_inputs(call):
        written = f"--{flag} {shown(name)} {shown(value)}"
        key, text = _filled(name, where, call, rows, written), ""
        if key:
            text = _filled(value, where, call, rows, written)
        if not key or not text:
            continue
        one = graph.inputs.setdefault(key, DescribedInput())
        part = flag.removeprefix("input_")
        if part == "dim":
            part = "shape"
            one.shape = [int(s) if s.isdecimal() else s for s in text.split(",") if s]
        elif part == "layout":
            one.layout = text
        elif text in DTYPES:
            one.dtype = text
        else:
            todo = f"one of {', '.join(DTYPES)}"
            rows.append(left(call.at, written, "no type of an input", todo))
            continue
        rows.append(carried(call.at, written, f"graphs.{graph.name}.inputs.{key}.{part}"))


def _of_inputs(call: Converted) -> Iterator[tuple[str, str, str]]:
    for flag in ("input_dim", "input_dtype", "input_layout"):
        for name, value in call.said.get(flag, []):
            yield flag, name, value


def _filled(text: str, where: Whereabouts, call: Converted, rows: list[Row], written: str) -> str:
    """With placeholders for axes; "" and a row when only a run knows it."""
    try:
        return as_placeholders(text, where.axes)
    except KeyError:
        names = [name for name in holes_in(text) if name not in where.axes]
        rows.append(left(call.at, written, "only a run knows it", _to_set(names)))
        return ""


def _to_set(names: list[str]) -> str:
    return " ".join(f"--set {name}=…" for name in dict.fromkeys(names)) + " says it here"


def _precision(graph: DescribedGraph, call: Converted, where: Whereabouts, rows: list[Row]) -> None:
    samples, encodings = call.one("input_list"), call.one("quantization_overrides")
    said = {flag: f"--{flag} {shown(call.one(flag))}" for flag in WIDTHS if call.one(flag)}
    at = f"graphs.{graph.name}.precision"
    if not samples and not encodings:
        graph.precision = "fp16" if call.one("float_bitwidth") == "16" else "fp32"
        rows += [carried(call.at, text, f"{at}: {flow(graph.precision)}") for text in said.values()]
        return
    bits = _bits(call, rows)
    if encodings:
        bits["encodings"], is_there = file_of(encodings, where, "encodings", f"{graph.name}.json")
        rows.append(carried(call.at, f"--quantization_overrides {shown(encodings)}", at))
        if not is_there:
            rows.append(left(call.at, shown(encodings), "the file is not in the repo",
                             f"put it at {bits['encodings']}, seen from the recipe"))  # fmt: skip
    graph.precision = _said_of(bits)
    rows += [carried(call.at, text, f"{at}: {flow(graph.precision)}") for text in said.values()]
    if samples:
        _calibration(graph, call, where, rows)


def _bits(call: Converted, rows: list[Row]) -> dict[str, Value]:
    bits: dict[str, Value] = {}
    for key, flag in BITS.items():
        text = call.one(flag) or str(DEFAULT_BITS)
        bits[key] = int(text) if text.isdecimal() else DEFAULT_BITS
        if not text.isdecimal() or bits[key] not in TAKEN[key]:
            takes = ", ".join(map(str, TAKEN[key]))
            todo = f"precision: {{{key}: …}} takes {takes}"
            rows.append(left(call.at, f"--{flag} {shown(text)}", "no precision of a recipe", todo))
            bits[key] = DEFAULT_BITS
    return bits


def _said_of(bits: dict[str, Value]) -> Value:
    """A word where there is one: biases have 32 bits in all of them."""
    word = f"w{bits['weights']}a{bits['activations']}"
    if set(bits) == {"weights", "activations", "bias"} and bits["bias"] == 32 and word in WORDS:
        return word
    return {key: value for key, value in bits.items() if (key, value) != ("bias", 32)}


def _calibration(
    graph: DescribedGraph, call: Converted, where: Whereabouts, rows: list[Row]
) -> None:
    written = call.one("input_list")
    path, is_there = file_of(written, where, "calib", f"{graph.name}.txt")
    text = f"--input_list {shown(written)}"
    rows.append(carried(call.at, text, f"graphs.{graph.name}.calibration: {path}"))
    raw = "raw files say no type and shape: {files: …, inputs: {x: {dtype: …, shape: […]}}}"
    graph.calibration = Remarked(path, raw)
    if not is_there:
        todo = f"put the list and what it names at {path}, seen from the recipe"
        rows.append(left(call.at, shown(written), "the file is not in the repo", todo))
    if "use_native_input_files" in call.said:
        became = "calibration files always have the types of the inputs"
        rows.append(carried(call.at, "--use_native_input_files", became))
    else:
        why = "its files are float32, here they have the types of the inputs"
        todo = "calibration: {files: …, inputs: {x: {dtype: float32, shape: […]}}}"
        rows.append(left(call.at, text, why, todo))
