"""Commands of a script → the calls of the SDK's tools among them, read flag by flag. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from qnnbuild.importing.carried import Place, Row, carried, left
from qnnbuild.importing.converter_words import Converted, grouped, read_converter
from qnnbuild.importing.holes import shown
from qnnbuild.importing.shell import Command

CONVERTER = "qnn-onnx-converter"
LIBRARY = "qnn-model-lib-generator"
CONTEXT = "qnn-context-binary-generator"
SETTINGS = "generate_config.py"
"""Of sherpa-onnx: writes the HTP's files from a chip's name."""

USUAL_VERSION = "2.40"
"""Of the SDK where no script tells it: the one that most published lines are for."""

OTHERS = {
    "qairt-converter": "options: {qairt: {route: dlc}} has it make a DLC, with its own options",
    "qairt-quantizer": "options: {qairt: {route: dlc}} and calibration: say the same",
    "qnn-tensorflow-converter": "export the model as ONNX: source: is an ONNX file",
    "qnn-tflite-converter": "export the model as ONNX: source: is an ONNX file",
    "qnn-pytorch-converter": "export the model as ONNX: source: is an ONNX file",
    "qnn-net-run": "verify: runs what was built, and judges it",
    "qnn-op-package-generator": "op_packages: brings operators of your own",
    "snpe-onnx-to-dlc": "options: {qairt: {route: dlc}} makes a DLC",
}
_BEFORE = re.compile(
    r"(?:.*/)?(?:python[0-9.]*|exec|sudo|time|env|nice|bash|sh|command)|-\w+|\w+=.*"
)
_VERSION = re.compile(r"qairt[-/_]v?([0-9]+\.[0-9]+)(?:\.[0-9]+)*")
_LIBRARY = re.compile(r"(?:lib)?(.*?)(?:\.so|\.dll)?")


@dataclass(frozen=True, kw_only=True)
class Library:
    stem: str
    targets: tuple[str, ...]  # empty: the tool's own, this host and Android
    at: Place


@dataclass(frozen=True, kw_only=True)
class Context:
    stems: tuple[str, ...]
    settings: str  # --config_file, "" without
    at: Place


@dataclass(frozen=True, kw_only=True)
class Generated:
    """The HTP's files were written by sherpa-onnx's script for this chip."""

    chip: str
    graph: str
    at: Place


@dataclass(kw_only=True)
class Calls:
    converted: list[Converted] = field(default_factory=list)
    libraries: list[Library] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    generated: list[Generated] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    version: str = ""  # of the SDK, where a path tells it


def read_calls(commands: Iterable[Command], text: str = "") -> Calls:
    """`text` is the whole script: a version of the SDK may stand anywhere in it."""
    calls = Calls()
    if version := _VERSION.search(text):
        calls.version = version[1]
    for command in commands:
        tool, words = _tool(command.words)
        if not tool or "--help" in words or "-h" in words[:1]:
            continue
        if tool == CONVERTER:
            calls.converted.append(read_converter(words, command.at))
        elif tool in _READERS:
            _READERS[tool](calls, words, command.at)
        else:
            calls.rows.append(left(command.at, tool, "no step of a recipe", OTHERS[tool]))
    return calls


def _tool(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The tool's name and the words behind it; ("", ()) for other commands."""
    for index, word in enumerate(words[:6]):
        name = word.rpartition("/")[2]
        if name in _READERS or name in OTHERS or name == CONVERTER:
            return name, words[index + 1 :]
        if not _BEFORE.fullmatch(word):
            break
    return "", ()


def stem_of(path: str) -> str:
    """out/model.cpp → model; the converter takes a path without an ending as well."""
    return path.rpartition("/")[2].removesuffix(".cpp").removesuffix(".bin")


def _library(calls: Calls, words: Sequence[str], at: Place) -> None:
    stem, targets = "", list[str]()
    for flag, values in grouped(words):
        written = shown(" ".join([flag, *values]))
        if flag in ("-c", "--cpp_file") and values:
            stem = stem_of(values[0])
        elif flag in ("-t", "--lib_targets"):
            targets += values
        elif flag not in ("-b", "--bin_file", "-o", "--output_dir", "-l", "--lib_name"):
            todo = "library: {targets: […]} is all that it is told"
            calls.rows.append(left(at, written, "no key of a recipe", todo))
    if stem:
        calls.libraries.append(Library(stem=stem, targets=tuple(targets), at=at))


def _context(calls: Calls, words: Sequence[str], at: Place) -> None:
    stems: list[str] = []
    settings = ""
    for flag, values in grouped(words):
        value = values[0] if values else ""
        written = shown(" ".join([flag, *values]))
        if flag == "--model":
            stems += [_stem_of_library(one) for word in values for one in word.split(",") if one]
        elif flag == "--config_file":
            settings = value
        elif flag == "--backend" and "QnnHtp" in value:
            calls.rows.append(carried(at, written, "toolchain: it compiles for the HTP"))
        elif flag not in ("--output_dir", "--binary_file"):
            calls.rows.append(left(at, written, "no key of a recipe", _CONTEXT_TODO.get(flag, "")))
    calls.contexts.append(Context(stems=tuple(stems), settings=settings, at=at))


_CONTEXT_TODO = {
    "--backend": "the SDK's toolchains compile for the HTP; toolchain: ort has backend: gpu",
    "--dlc_path": "options: {qairt: {route: dlc}}",
    "--op_packages": "op_packages: brings operators of your own",
    "--profiling_level": "qnnbuild shell opens a shell in which to run it so",
    "--log_level": "its output is kept: qnnbuild show ACTION --log",
    "--input_output_tensor_mem_type": "it says something to apps: options.qairt.htp.mem_type",
}


def _stem_of_library(path: str) -> str:
    found = _LIBRARY.fullmatch(path.rpartition("/")[2])
    return found[1] if found else path


def _generated(calls: Calls, words: Sequence[str], at: Place) -> None:
    said = {flag: values[0] for flag, values in grouped(words) if values}
    if "--soc" in said:
        graph = said.get("--graph-name", "")
        calls.generated.append(Generated(chip=said["--soc"], graph=graph, at=at))


_READERS: dict[str, Callable[[Calls, Sequence[str], Place], None]] = {
    LIBRARY: _library,
    CONTEXT: _context,
    SETTINGS: _generated,
}
