"""Writes a stand-in of Qualcomm's SDK: a folder as the real one's archive makes it.

`lay_out(folder, version)` gives the SDK's root, `lay_out_ndk(folder)` an NDK and
`lay_out_hexagon(folder)` a Hexagon SDK. `environment(root)` is what envsetup.sh would set.
`turn(root, name, value)` makes a tool fail as real ones do.
"""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import sys
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.libraries import ARM64, HEXAGON, PROGRAM, X86_64, library
from tests.standin.loadable import loadable
from tests.standin.tools.op_package_generator import MAKEFILES
from tests.standin.tools.release import FACTS, SWITCHES, Release, parts

HERE = Path(__file__).parent
OLD, NEW = "2.40.0.251030", "2.49.0.260730"
HOST = "x86_64-linux-clang"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"  # where a build looks, whatever the caller's PATH is
COMPILERS = ("clang++", "g++", "c++")
PACKAGE = "qti.aisw.standin"
ARCHS = [68, 69, 73, 75, 79, 81]
PYTHON_TOOLS = {
    "qnn-onnx-converter": "onnx_converter",
    "qairt-converter": "dlc_converter",
    "qairt-quantizer": "dlc_quantizer",
    "qnn-model-lib-generator": "lib_generator",
    "qnn-op-package-generator": "op_package_generator",
}
COMPILED_TOOLS = {
    "qnn-context-binary-generator": "context_generator",
    "qnn-context-binary-utility": "context_utility",
    "qnn-net-run": "net_run",
}
BUILDS = {OLD: "v2.40.0.251030114326_189385", NEW: "v2.49.0.260730101500_200117"}
HOST_LIBRARIES = [
    "libQnnHtp",
    "libQnnCpu",
    "libQnnSaver",
    "libQnnSystem",
    "libQnnModelDlc",
    "libQnnHtpNetRunExtensions",
    "libQnnHtpProfilingReader",
    "libQnnHtpOptraceProfilingReader",
    "libQnnChrometraceProfilingReader",
]
ANDROID_LIBRARIES = [
    "libQnnHtp",
    "libQnnHtpPrepare",
    "libQnnSystem",
    "libQnnHtpNetRunExtensions",
    "libQnnCpu",
    "libQnnGpu",
    "libQnnModelDlc",
    "libGenie",
]
ANDROID_PROGRAMS = [
    "qnn-net-run",
    "qnn-context-binary-generator",
    "qnn-throughput-net-run",
    "qnn-platform-validator",
]
CONVERTERS_LOAD = "lib/python/qti/aisw/converters/common/linux-x86_64/libPyIrGraph310.so"
PYTHON_TOOL = """\
#!{python}
import sys
from pathlib import Path

from {package}.{module} import main

sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[2]))
"""
COMPILED_TOOL = """\
#!{python}
import os
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
libraries = root / "lib" / "{host}"
searched = os.environ.get("LD_LIBRARY_PATH", "").split(":")
sys.path.insert(0, str(root / "lib" / "python"))
from {package}.release import switch

if not any(Path(p).resolve() == libraries for p in searched if p):
    if not switch(root, "system_has_libcxx"):
        sys.exit(
            sys.stderr.write(
                sys.argv[0] + ": error while loading shared libraries: libc++.so.1: "
                "cannot open shared object file: No such file or directory\\n"
            )
            and 127
        )
from {package}.{module} import main

sys.exit(main(sys.argv[1:], root))
"""
CHECK_PYTHON = """\
#!{python}
from {package}.python_dependency import main

raise SystemExit(main())
"""


def lay_out(folder: Path, version: str = OLD) -> Path:
    """`folder`/qairt/`version`; what is there already is written again."""
    root = folder / "qairt" / version
    shutil.rmtree(root, ignore_errors=True)
    facts = facts_of(version)
    _write(root / FACTS, json.dumps(facts._asdict(), indent=2) + "\n")
    short = ".".join(version.split(".")[:3])
    sdk = f"version: {short}\nbuild_id: {facts.build_id}\npython: '3.10'\nonnx: 1.17.0\n"
    _write(root / "sdk.yaml", sdk)
    _write(root / "QNN_ReleaseNotes.txt", f"QNN {facts.build_id}\n")
    _write(root / "LICENSE.txt", "The stand-in's own text in the place of the SDK's licence.\n")
    shutil.copytree(HERE / "files" / "bin", root / "bin")
    shutil.copytree(HERE / "files" / "converter", root / "share/QNN/converter")
    shutil.copytree(HERE / "files" / "include", root / "include/QNN")
    shutil.copytree(HERE / "files" / "op_packages", root / MAKEFILES)
    (root / "include/SNPE").mkdir()
    (root / "benchmarks/QNN").mkdir(parents=True)
    for script in (root / "bin").iterdir():
        script.chmod(0o755)
    _tools(root)
    _compiler(root)
    _libraries(root, facts)
    (root / CONVERTERS_LOAD).parent.mkdir(parents=True)
    (root / CONVERTERS_LOAD).write_bytes(loadable())
    return root


def facts_of(version: str) -> Release:
    number = parts(version)
    late = number >= (2, 48)
    return Release(
        version=version,
        build_id=BUILDS.get(version, f"v{version}000000_000000"),
        core_api="2.29.0" if number < (2, 48) else "2.34.0",
        backend_api="5.40.0" if number < (2, 49) else "5.49.0",
        blob_version="3.3.4" if number < (2, 49) else "4.0.0",
        soc_keys=["soc_model"] if late else ["soc_id", "soc_model"],
        archs=[f"v{arch}" for arch in ARCHS] + (["v85", "v89"] if late else []),
        weight_bits=[4, 8, 16] if number >= (2, 42) else [4, 8],
        spelling="new" if number >= (2, 31) else "old",
        short_widths=not late,
        command_key="converter_command" if number >= (2, 31) else "coverter_command",
    )


def turn(root: Path, name: str, value: Any) -> None:
    """A switch of the stand-in; None takes it back.

    qnn-onnx-converter: "abrupt" (0, no files); qairt-converter: "no-dlc" (0, no file);
    qnn-context-binary-generator: "segfault" or "finalize" (err 1002); qnn-net-run: "segfault",
    "execution" (failure, and ends well), "nothing" (no results), "wrong" (other numbers), "short"
    (files), "unmarked" (native files by other names) or "zeros" (for a graph out of a real DLC, of
    which nothing can be computed); context_limit_kb and link_limit: smaller limits than 2 GB;
    soc_model_is_lost; prepares_differ (other bytes each
    time); utility_keys: "other" (the JSON's doubtful places spelled the other way);
    system_has_libcxx (the compiled tools start without LD_LIBRARY_PATH).
    """
    path = root / SWITCHES
    set_already = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    _write(path, json.dumps({**set_already, name: value}))


def environment(root: Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    paths = {
        "PATH": f"{root}/bin/{HOST}",
        "LD_LIBRARY_PATH": f"{root}/lib/{HOST}",
        "PYTHONPATH": f"{root}/lib/python/:{root}/benchmarks/QNN/",
    }
    joined = {
        name: f"{value}:{base[name]}" if base.get(name) else value for name, value in paths.items()
    }
    roots = dict.fromkeys(("QNN_SDK_ROOT", "SNPE_ROOT", "QAIRT_SDK_ROOT"), str(root))
    return {**base, **joined, **roots}


def lay_out_ndk(folder: Path, revision: str = "29.0.14206865") -> Path:
    """An NDK whose ndk-build makes a real library for arm64-v8a; 16 KB pages since r28."""
    root = folder / f"android-ndk-r{revision.partition('.')[0]}"
    text = f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n"
    _write(root / "source.properties", text)
    script = (HERE / "tools" / "ndk_build.py").read_text(encoding="utf-8")
    _write(root / "ndk-build", f"#!{sys.executable}\n{script}", mode=0o755)
    _write(root / "toolchains/llvm/prebuilt/linux-x86_64/bin/clang++", _cross(ARM64), mode=0o755)
    return root


def lay_out_hexagon(folder: Path, version: str = "6.5.0.0") -> Path:
    """A Hexagon SDK whose compiler makes libraries that say they are for the Hexagon."""
    root = folder / "Hexagon_SDK" / version
    compiler = root / "tools/HEXAGON_Tools/19.0.04/Tools/bin/hexagon-clang++"
    _write(compiler, _cross(HEXAGON), mode=0o755)
    _write(root / "setup_sdk_env.source", f"export HEXAGON_SDK_ROOT={version}\n")
    return root


def _cross(machine: int) -> str:
    script = (HERE / "tools" / "cross_clang.py").read_text(encoding="utf-8")
    return f"#!{sys.executable}\n" + script.replace("MACHINE = 0", f"MACHINE = {machine}")


ADB = """\
#!{python}
import sys
from pathlib import Path

sys.path.insert(0, "{root}/lib/python")
from {package}.adb import main

sys.exit(main(sys.argv[1:], Path("{root}"), Path("{phone}")))
"""


def lay_out_adb(folder: Path, root: Path) -> Path:
    """An adb that sees one phone, the folder `folder`/phone, with what is in the SDK at `root`."""
    text = ADB.format(python=sys.executable, root=root, package=PACKAGE, phone=folder / "phone")
    _write(folder / "adb", text, mode=0o755)
    return folder / "adb"


def missing_programs() -> list[str]:
    """What a model library cannot be built without on this machine."""
    compiler = any(shutil.which(name) for name in COMPILERS)
    needed = {"a C++ compiler (clang++ or g++)": compiler}
    needed |= {name: bool(shutil.which(name)) for name in ("make", "objcopy")}
    return [name for name, there in needed.items() if not there]


def _tools(root: Path) -> None:
    python = {"python": sys.executable, "package": PACKAGE, "host": HOST}
    package = root / "lib" / "python" / PACKAGE.replace(".", "/")
    for source in sorted((HERE / "tools").glob("*.py")):
        text = source.read_text(encoding="utf-8").replace("tests.standin.tools", PACKAGE)
        _write(package / source.name, text)
        compiled = Path(cache_from_source(str(package / source.name)))
        compiled.parent.mkdir(exist_ok=True)
        compiled.write_bytes(_bytecode(package / source.name, text))
    forms = [(PYTHON_TOOL, PYTHON_TOOLS), (COMPILED_TOOL, COMPILED_TOOLS)]
    for form, tools in forms:
        for name, module in tools.items():
            text = form.format(module=module, **python)
            _write(root / "bin" / HOST / name, text, mode=0o755)
    _write(root / "bin" / "check-python-dependency", CHECK_PYTHON.format(**python), mode=0o755)


_BYTECODE: dict[str, bytes] = {}


def _bytecode(source: Path, text: str) -> bytes:
    """An action's environment has Python keep none, so each start of a tool would compile anew.

    It goes by the source's contents: a test may change a tool, and lays out many of them.
    """
    if text not in _BYTECODE:
        with TemporaryDirectory() as folder:
            made = Path(folder, "compiled")
            mode = py_compile.PycInvalidationMode.CHECKED_HASH
            py_compile.compile(str(source), str(made), doraise=True, invalidation_mode=mode)
            _BYTECODE[text] = made.read_bytes()
    return _BYTECODE[text]


def _compiler(root: Path) -> None:
    """Where the system has no clang++, the compiler that it has goes by that name in the SDK."""
    paths = (os.environ.get("PATH"), SYSTEM_PATH)
    if all(shutil.which("clang++", path=path) for path in paths):
        return
    if other := next(filter(None, map(shutil.which, COMPILERS)), None):
        _write(root / "bin" / HOST / "clang++", f'#!/bin/sh\nexec {other} "$@"\n', mode=0o755)


def _libraries(root: Path, facts: Release) -> None:
    """Real ELF headers without code; the version is in each, as `strings` shows it."""
    android = [*ANDROID_LIBRARIES, *(f"libQnnHtpV{arch}Stub" for arch in ARCHS)]
    folders = {
        HOST: (X86_64, [*HOST_LIBRARIES, "libc++.so.1", "libc++abi.so.1", "libunwind.so.1"]),
        "aarch64-android": (ARM64, android),
    }
    for arch in ARCHS:
        folders[f"hexagon-v{arch}/unsigned"] = (HEXAGON, [f"libQnnHtpV{arch}Skel"])
    for folder, (machine, names) in folders.items():
        for name in names:
            path = root / "lib" / folder / (name if ".so" in name else f"{name}.so")
            path.parent.mkdir(parents=True, exist_ok=True)
            data = library((name.partition(".")[0],), machine)
            path.write_bytes(data + b"\0" + facts.qaisw.encode() + b"\0")
    for name in ANDROID_PROGRAMS:
        path = root / "bin" / "aarch64-android" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(library((), ARM64, PROGRAM) + facts.qaisw.encode() + b"\0")
        path.chmod(0o755)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
