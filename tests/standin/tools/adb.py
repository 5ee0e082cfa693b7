"""adb with one phone: a folder, in which programs for arm64 are those of this machine.

Below /data/local/tmp a path is one of the folder PHONE. What a shell is told runs in this machine's
own, and qnn-net-run, which has to be a program for arm64, is the stand-in's for x86-64.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.standin.tools.log import say

TMP = "/data/local/tmp"
ARM64 = 183
PROGRAM = """\
#!/bin/sh
QNNSTANDIN_DEVICE=1 LD_LIBRARY_PATH="{libraries}:$LD_LIBRARY_PATH" exec {tool} "$@"
"""


def main(argv: Sequence[str], root: Path, phone: Path) -> int:
    words = list(argv)
    if words[:1] == ["-s"]:
        if words[1] != "standin":
            sys.stderr.write(f"adb: device '{words[1]}' not found\n")
            return 1
        words = words[2:]
    state = os.environ.get("QNNSTANDIN_PHONE", "device")
    if state == "none":
        sys.stderr.write("error: no devices/emulators found\n")
        return 1
    match words:
        case ["get-state"]:
            say(state)
        case ["shell", command]:
            return _shell(command, phone)
        case ["push", source, target]:
            return _push(Path(source), _there(target, phone), root)
        case ["pull", source, target]:
            return _pull(_there(source, phone), Path(target))
        case _:
            sys.stderr.write(f"adb: unknown command {' '.join(words)}\n")
            return 1
    return 0


def _there(path: str, phone: Path) -> Path:
    return phone / path.removeprefix(TMP).lstrip("/") if path.startswith(TMP) else Path(path)


def _shell(command: str, phone: Path) -> int:
    if command == "getprop ro.soc.model":
        say(os.environ.get("QNNSTANDIN_CHIP", "SM8750"))
        return 0
    phone.mkdir(parents=True, exist_ok=True)
    filled = re.sub(re.escape(TMP), str(phone), command)
    plain = {"PATH": os.environ["PATH"]}
    return subprocess.run(["/bin/sh", "-c", filled], env=plain, check=False).returncode


def _push(source: Path, target: Path, root: Path) -> int:
    if not source.is_file() or not target.parent.is_dir():
        sys.stderr.write(f"adb: error: cannot push '{source}' to '{target}'\n")
        return 1
    shutil.copyfile(source, target)
    if target.name == "input_list.txt":  # it has the phone's own paths
        text = target.read_text(encoding="utf-8").replace(TMP, str(_top(target)))
        target.write_text(text, encoding="utf-8")
    if target.suffix == ".json":
        text = target.read_text(encoding="utf-8").replace(TMP, str(_top(target)))
        target.write_text(text, encoding="utf-8")
    if target.name == "qnn-net-run":
        data = target.read_bytes()
        if data[:4] != b"\x7fELF" or int.from_bytes(data[18:20], "little") != ARM64:
            sys.stderr.write("adb: the phone cannot run this program\n")
            return 1
        host = "x86_64-linux-clang"
        tool = root / "bin" / host / "qnn-net-run"
        target.write_text(PROGRAM.format(libraries=root / "lib" / host, tool=tool), "utf-8")
    return 0


def _top(target: Path) -> Path:
    return next(folder for folder in target.parents if folder.name == "phone")


def _pull(source: Path, target: Path) -> int:
    if not source.is_dir():
        sys.stderr.write(f"adb: error: failed to stat remote object '{source}'\n")
        return 1
    shutil.copytree(source, target)
    return 0
