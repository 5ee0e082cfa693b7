"""What Qualcomm's tools refuse and what they pass over in silence, each with what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.standin.lay_out import HOST

CONVERTER, LIBRARIAN = "qnn-onnx-converter", "qnn-model-lib-generator"
GENERATOR, UTILITY = "qnn-context-binary-generator", "qnn-context-binary-utility"

CONVERT = "convert/late/model+w8a8"
LIBRARY = f"library/sense/model/10/{HOST}"
ANDROID = "library/sense/model/6/aarch64-android"
CONTEXT = "context/sense/model/6@SM8750"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way in which a tool fails, and what has to be told of it."""

    action: str
    tool: str
    message: str
    said: str  # among the tool's last lines; empty: it says nothing of it
    hint: str = ""
    code: int = 4
    switch: tuple[str, Any] | None = None
    spoil: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    gone: str = ""  # what of the SDK is not there
    release: str = ""  # the SDK's tools are of this version from now on


def converter(said: str, *add: str, code: int = 1, drop: Sequence[str] = ()) -> Case:
    """It is told something else than qnnbuild tells it."""
    return Case(
        action=CONVERT,
        tool=CONVERTER,
        message=f"{CONVERTER} failed with exit code {code}",
        said=said,
        spoil={"add": add, "drop": drop},
    )


def librarian(said: str, action: str = LIBRARY, hint: str = "", **spoil: Any) -> Case:
    return Case(
        action=action,
        tool=LIBRARIAN,
        message=f"{LIBRARIAN} failed with exit code {spoil.pop('code', 1)}",
        said=said,
        hint=hint,
        switch=spoil.pop("switch", None),
        spoil=spoil,
    )


def generator(said: str, hint: str = "", **spoil: Any) -> Case:
    return Case(
        action=CONTEXT,
        tool=GENERATOR,
        message=f"{GENERATOR} failed with exit code {spoil.pop('code', 1)}",
        said=said,
        hint=hint,
        switch=spoil.pop("switch", None),
        spoil=spoil,
    )


def silent(message: str, said: str = "", **more: Any) -> Case:
    """The generator ends well; nothing that it says is wrong."""
    facts = more.pop("facts", {})
    return Case(
        action=CONTEXT, tool=GENERATOR, message=message, said=said, code=5, spoil=more, facts=facts
    )


NOT_APPLIED = "the binary is not what was asked for: settings did not count"
UNBOUND = {"O of model": "0, asked for 3", "vtcm_mb of model": "4, asked for 8"}
NAMES = """
import json
from pathlib import Path
inner = Path('htp/htp_config.json')
config = json.loads(inner.read_text())
config['graphs'][0]['graph_names'] = ['model.onnx']
inner.write_text(json.dumps(config))
"""
SMALLER = """
from pathlib import Path
binary = Path('out/context/model.bin')
binary.write_bytes(binary.read_bytes().replace(b'vtcm_size=8388608', b'vtcm_size=4194304'))
"""
HALF = """
from pathlib import Path
binary = Path('out/context/model.bin')
binary.write_bytes(binary.read_bytes()[:200])
"""

OLDER = """
import json
from pathlib import Path
facts = root / 'share/standin/release.json'
facts.write_text(json.dumps({**json.loads(facts.read_text()), 'version': '2.28.0.240930'}))
"""
REFUSALS: Mapping[str, Case] = {
    "converter: no model": converter(
        "the following arguments are required: -i/--input_network",
        code=2,
        drop=["--input_network"],
    ),
    "converter: unknown flag": converter("unrecognized arguments: --fast", "--fast", code=2),
    "converter: bad choice": converter("invalid choice: 7", "--act_bitwidth", "7", code=2),
    "converter: missing model": converter("gone.onnx", "--input_network", "gone.onnx"),
    "converter: encodings that do not count": converter(
        "--ignore_encodings cannot be used with --quantization_overrides",
        *("--ignore_encodings", "--quantization_overrides", "e.json"),
    ),
    "converter: fallback beside samples": converter(
        "--float_fallback cannot be used with --input_list", "--float_fallback"
    ),
    "converter: missing list": converter("Cannot open input list", "--input_list", "gone.txt"),
    "converter: files of another size": converter(
        "Size of raw file samples/000000-0.raw is 192 bytes", "--input_dtype", "x", "float16"
    ),
    "converter: dimensions of no input": converter("gone", "--input_dim", "gone", "1,2"),
    "converter: type of no input": converter("gone", "--input_dtype", "gone", "float32"),
    "converter: no module of the SDK": Case(
        action=CONVERT,
        tool=CONVERTER,
        message=f"{CONVERTER} failed with exit code 1",
        said="ModuleNotFoundError: No module named 'qti'",
        hint="lib/python/qti is missing",
        gone="lib/python/qti",
    ),
    "converter: another Python": Case(
        action=CONVERT,
        tool=CONVERTER,
        message=f"{CONVERTER} failed with exit code 1",
        said="No module named 'libPyIrGraph310'",
        hint="is to be a Python 3.10",
        spoil={"first": "raise ModuleNotFoundError(\"No module named 'libPyIrGraph310'\")"},
    ),
    "converter: ends in the middle": Case(
        action=CONVERT,
        tool=CONVERTER,
        message=f"{CONVERTER} ended without a word that it is complete",
        said="Processing in/model/model.onnx",
        switch=(CONVERTER, "abrupt"),
    ),
    "converter: complete without files": Case(
        action=CONVERT,
        tool=CONVERTER,
        message=f"{CONVERTER} ended well and did not write model.cpp",
        said="Conversion complete!",
        spoil={"last": "for f in ('cpp', 'bin'): os.remove(f'out/model/model.{f}')"},
    ),
    "converter: weights without their file": Case(
        action=CONVERT,
        tool=CONVERTER,
        message=f"{CONVERTER} ended well and did not write model.bin",
        said="Conversion complete!",
        spoil={"last": "os.remove('out/model/model.bin')"},
    ),
    "converter: half a description": Case(
        action=CONVERT,
        tool=CONVERTER,
        message="model_net.json is not whole",
        said="Conversion complete!",
        spoil={"last": "open('out/model/model_net.json', 'r+').truncate(50)"},
    ),
    "library: no source": librarian("required: -c/--cpp", code=2, drop=["-c"]),
    "library: missing source": librarian(
        "FileNotFoundError: Unable to find the model source file, invalid path:",
        add=["-c", "gone.cpp"],
    ),
    "library: missing weights": librarian("Unable to find the model", add=["-b", "gone.bin"]),
    "library: no compiler": librarian(
        "clang++: command not found", hint="apt-get install clang", env={"PATH": "/gone"}
    ),
    "library: over 2 GB": librarian(
        "relocation truncated to fit: R_X86_64_PC32",
        hint="precision: fp16 halves them",
        switch=("link_limit", 1),
    ),
    "library: no ndk-build": librarian(
        "ndk-build not found in PATH", ANDROID, "has ndk-build in it", env={"PATH": "/gone"}
    ),
    "library: none": Case(
        action=LIBRARY,
        tool=LIBRARIAN,
        message=f"{LIBRARIAN} ended well and did not make {HOST}/libmodel.so",
        said="Target: x86_64-linux-clang",
        spoil={"last": f"os.remove('out/library/{HOST}/libmodel.so')"},
    ),
    "library: half of it": Case(
        action=LIBRARY,
        tool=LIBRARIAN,
        message="libmodel.so is not whole",
        said="Target: x86_64-linux-clang",
        code=5,
        spoil={"last": f"open('out/library/{HOST}/libmodel.so', 'r+').truncate(100)"},
    ),
    "context: unknown flag": generator("Unused Arguments --fast", add=["--fast"]),
    "context: no backend": generator("Missing option: --backend", drop=["--backend"]),
    "context: no model": generator("Missing option: --model", drop=["--model"]),
    "context: a library that is none": generator(
        "Initialization failure", add=["--model", "htp/htp_config.json"]
    ),
    "context: no file of settings": generator("gone.json", add=["--config_file", "gone.json"]),
    "context: too large": generator(
        "graph requires estimated allocation of",
        "a context holds 2 GB",
        switch=("context_limit_kb", 0),
    ),
    "context: graph that cannot be finalized": generator(
        "Failed to finalize graph (id: 1) with err 1002", switch=(GENERATOR, "finalize")
    ),
    "context: no libc++": generator(
        "libc++.so.1: cannot open shared object file",
        "apt-get install libc++1",
        code=127,
        env={"LD_LIBRARY_PATH": ""},
    ),
    "context: crash": Case(
        action=CONTEXT,
        tool=GENERATOR,
        message=f"{GENERATOR} failed with signal 11",
        said=GENERATOR,
        switch=(GENERATOR, "segfault"),
    ),
    "context: a word that it passes over": Case(
        action=CONTEXT,
        tool=GENERATOR,
        message="the SDK's compiler passed over what it was told",
        said="Invalid key: graph_configs/0/graph_prio",
        code=5,
        spoil={"first": "print('    32.1ms [ ERROR ] Invalid key: graph_configs/0/graph_prio')"},
    ),
    "context: a library of a newer SDK": Case(
        action=CONTEXT,
        tool=GENERATOR,
        message=f"{GENERATOR} failed with exit code 1",
        said="OpConfig validation failed for",
        release="2.28.0.240930",
    ),
    "utility: half a binary": Case(
        action=CONTEXT,
        tool=UTILITY,
        message=f"{UTILITY} failed with exit code 1",
        said="Error: Failed to get context binary info.",
        hint="the binary is not whole, or of a newer SDK",
        spoil={"first": HALF},
    ),
    "utility: a binary of a newer SDK": Case(
        action=CONTEXT,
        tool=UTILITY,
        message=f"{UTILITY} failed with exit code 1",
        said="Error: Failed to get context binary info.",
        spoil={"first": OLDER},
    ),
    "utility: no binary named": Case(
        action=CONTEXT,
        tool=UTILITY,
        message=f"{UTILITY} failed with exit code 1",
        said="Missing option: --context_binary",
        spoil={"drop": ["--context_binary"]},
    ),
    "utility: no file named": Case(
        action=CONTEXT,
        tool=UTILITY,
        message=f"{UTILITY} failed with exit code 1",
        said="Missing option: --json_file",
        spoil={"drop": ["--json_file"]},
    ),
    "utility: nothing written": Case(
        action=CONTEXT,
        tool=UTILITY,
        message=f"{UTILITY} ended well and wrote nothing",
        said="",
        code=5,
        spoil={"last": "os.remove('context.json')"},
    ),
}

SILENCES: Mapping[str, Case] = {
    "settings without their wrapper": silent(
        NOT_APPLIED,
        facts={"HTP": "v68, asked for v79", **UNBOUND},
        add=["--config_file", "htp/htp_config.json"],
    ),
    "settings left out": silent(
        NOT_APPLIED,
        facts={"HTP": "v68, asked for v79", **UNBOUND},
        drop=["--config_file"],
    ),
    "settings for another name": silent(NOT_APPLIED, facts=UNBOUND, first=NAMES),
    "a file that is not as it says": silent(
        NOT_APPLIED, facts={"vtcm_mb in the file": "4, asked for 8"}, last=SMALLER
    ),
    "no name of the binary": silent(
        f"{GENERATOR} ended well and wrote no model.bin",
        said="100%",
        drop=["--binary_file"],
    ),
}
