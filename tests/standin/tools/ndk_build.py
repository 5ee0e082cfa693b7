"""ndk-build of the stand-in NDK: one library for arm64-v8a, with whatever compiler is there.

A clang that has lld makes real code for Android; a cross compiler is the next best; else the
host's compiler makes a library whose header says AArch64: a reader of ELF files sees no difference.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import sys
from pathlib import Path

AARCH64 = 183
WEIGHTS = Path("obj/binary/weights.blob")
FLAGS = [
    "-std=c++11",
    "-O3",
    "-fno-exceptions",
    "-fPIC",
    "-fvisibility=hidden",
    "-shared",
    "-nostdlib",
]
INCBIN = (
    '.section .rodata\n.global _binary_obj_binary_start\n_binary_obj_binary_start:\n.incbin "{}"\n'
    ".section .note.GNU-stack\n"
)


def main() -> int:
    name = os.environ["QNN_MODEL_LIB_NAME"]
    # Android.mk cuts every "lib" and every ".so" out of the name, and ndk-build adds them again
    name = f"lib{name.replace('.so', '').replace('lib', '')}.so"
    out = Path("libs/arm64-v8a") / name
    out.parent.mkdir(parents=True, exist_ok=True)
    sources = [str(path) for path in sorted(Path("jni").glob("*.cpp"))]
    if WEIGHTS.is_file():
        asm = Path("obj/weights.S")
        asm.write_text(INCBIN.format(WEIGHTS), encoding="utf-8")
        sources.append(str(asm))
    include = ["-Ijni", f"-I{os.environ['QNN_SDK_ROOT']}/include/QNN"]
    page = f"-Wl,-z,max-page-size={default_page()}"
    tail = [page, *shlex.split(os.environ.get("LDFLAGS", "")), "-o", str(out)]
    compiler, patched = chosen()
    say(f"[arm64-v8a] Compile++      : {name} <= {sources[0]}")
    done = subprocess.run([*compiler, *FLAGS, *include, *sources, *tail], check=False)
    if done.returncode:
        return 2
    if patched:
        data = bytearray(out.read_bytes())
        struct.pack_into("<H", data, 18, AARCH64)
        out.write_bytes(data)
    say(f"[arm64-v8a] Install        : {name} => {out}")
    return 0


def default_page() -> int:
    """16 KB since r28."""
    text = (Path(__file__).resolve().parent / "source.properties").read_text(encoding="utf-8")
    revision = text.partition("Pkg.Revision = ")[2]
    return 16384 if int(revision.partition(".")[0]) >= 28 else 4096


def chosen() -> tuple[list[str], bool]:
    """A compiler for AArch64; True when it is the host's and the header must be rewritten."""
    if shutil.which("clang++") and shutil.which("ld.lld") and speaks_aarch64("clang++"):
        return ["clang++", "--target=aarch64-linux-android24", "-fuse-ld=lld"], False
    if shutil.which("aarch64-linux-gnu-g++"):
        return ["aarch64-linux-gnu-g++"], False
    for name in ("clang++", "g++", "c++"):
        if shutil.which(name):
            return [name], True
    sys.stderr.write("ndk-build: no compiler\n")
    sys.exit(1)


def speaks_aarch64(clang: str) -> bool:
    probe = [clang, "--target=aarch64-linux-android24", "-x", "c++", "-c", "-o", os.devnull, "-"]
    done = subprocess.run(probe, input=b"int one;", capture_output=True, check=False)
    return done.returncode == 0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
