"""qnn-model-lib-generator: a real compiler and linker, started through make or ndk-build."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from tests.standin.tools.cross import command
from tests.standin.tools.library_file import weights_blob
from tests.standin.tools.log import stamped
from tests.standin.tools.release import switch

TOOL = "qnn-model-lib-generator"
X86, ANDROID = "x86_64-linux-clang", "aarch64-android"
TWO_GB = 2 << 30


class Build(NamedTuple):
    root: Path
    cpp: Path
    binary: Path | None
    name: str
    out: Path


def main(argv: list[str], root: Path) -> int:
    given = _parser().parse_args(argv)
    build = _build(given, root)
    targets = [t for group in given.lib_targets or [[ANDROID, X86]] for t in group]
    _tell(build, given.lib_targets or [[ANDROID, X86]])
    # one after the other, x86 first; the first that fails stops all
    for target in sorted(targets, key=lambda t: (t != X86, t != ANDROID)):
        _one(build, target, keep=given.debug)
    return 0


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog=TOOL)
    p.add_argument("-c", "--cpp", required=True)
    p.add_argument("-b", "--bin")
    p.add_argument("-t", "--lib_targets", nargs="+", action="append")
    p.add_argument("-l", "--lib_name")
    p.add_argument("-o", "--output_dir", default="model_libs")
    p.add_argument("--debug", action="store_true")
    return p


def _build(given: argparse.Namespace, root: Path) -> Build:
    cpp = Path(given.cpp).absolute()
    if not cpp.is_file():
        raise FileNotFoundError(f"Unable to find the model source file, invalid path: {cpp}")
    binary = Path(given.bin).absolute() if given.bin else None
    if binary and not binary.is_file():
        raise FileNotFoundError(f"Unable to find the model binary file, invalid path: {binary}")
    name = given.lib_name or (binary.stem if binary else "qnn_model")
    return Build(root, cpp, binary, name, Path(given.output_dir).absolute())


def _tell(build: Build, targets: list[list[str]]) -> None:
    for label, value in [
        ("Model cpp file path  ", build.cpp),
        ("Model bin file path  ", build.binary),
        ("Library target       ", targets),
        ("Library name         ", build.name),
        ("Output directory     ", build.out),
        ("Output library name  ", build.name),
    ]:
        _log("INFO", f"{label}: {value}")


def _one(build: Build, target: str, *, keep: bool) -> None:
    scratch = Path.cwd() / f"tmp_{os.getpid()}"
    scratch.mkdir(exist_ok=True)
    _lay_out(build, scratch)
    builders = {ANDROID: _android, X86: _x86}
    if target in builders:
        made = builders[target](build, scratch)
    else:
        line, made = command(target, scratch, build.name, build.root)
        _run(line, target)
    folder = build.out / target
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(made, folder / made.name)
    if not keep:
        shutil.rmtree(scratch)  # after a failure it stays
    _log("INFO", f"Target: {target}\tLibrary: {folder / made.name}")


def _lay_out(build: Build, scratch: Path) -> None:
    shutil.copytree(build.root / "share/QNN/converter", scratch, dirs_exist_ok=True)
    shutil.copy(build.cpp, scratch / "jni" / f"{build.cpp.stem}.cpp")
    raws = scratch / "obj" / "binary"
    raws.mkdir(parents=True, exist_ok=True)
    if build.binary is None:
        _log(
            "WARNING",
            "No Binary File provided. If params are required for model, this will potentially "
            "result in undefined reference when running.",
        )
        return
    with tarfile.open(build.binary) as tar:
        tar.getmembers()  # a file that is no tar is refused here
    (raws / "weights.blob").write_bytes(weights_blob(build.binary.read_bytes()))


def _x86(build: Build, scratch: Path) -> Path:
    for program in ("clang++", "objcopy"):
        if shutil.which(program) is None:
            _log("ERROR", f"{program}: command not found")
            raise RuntimeError(f"{program} not found in PATH")
    limit = switch(build.root, "link_limit", TWO_GB)
    if build.binary and build.binary.stat().st_size > limit:
        line = (
            "relocation truncated to fit: R_X86_64_PC32 against `.data'\n"
            "clang++: error: linker command failed with exit code 1\n"
            f"make: *** [Makefile.linux-x86_64:109: libs/{X86}/lib{build.name}.so] Error 1"
        )
        _failed(X86, "make", 2, "", line)
    line = (
        f"cd {scratch} && export QNN_MODEL_LIB_NAME=lib{build.name}.so && "
        'make CXX="clang++" -f Makefile.linux-x86_64'
    )
    _run(line, X86)
    return scratch / "libs" / X86 / f"lib{build.name}.so"


def _android(build: Build, scratch: Path) -> Path:
    if shutil.which("ndk-build") is None:
        _log("ERROR", "ndk-build: command not found")
        raise RuntimeError("ndk-build not found in PATH")
    line = (
        f"cd {scratch} && export QNN_SDK_ROOT={build.root} && "
        f"export QNN_MODEL_LIB_NAME=lib{build.name}.so && "
        "export QNN_ANDROID_APP_ABIS=arm64-v8a && ndk-build"
    )
    _run(line, ANDROID)
    return next((scratch / "libs/arm64-v8a").glob("lib*.so"))


def _run(line: str, target: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    if done.returncode:
        _failed(target, line, done.returncode, done.stdout, done.stderr)
    for label, value in [
        ("command", [line]),
        ("rc", done.returncode),
        ("stdout", done.stdout),
    ]:
        _log("INFO", f"{label} : {value}")


def _failed(target: str, line: str, rc: int, out: str, err: str) -> None:
    for label, value in [("command", [line]), ("rc", rc), ("stdout", out), ("stderr", err)]:
        _log("ERROR", f"{label} : {value}")
    sys.stdout.flush()
    raise RuntimeError(f"Failed to compile model library for target: {target}")


def _log(level: str, text: str) -> None:
    stamped(f"{level:>7} - {TOOL}: {text}")
