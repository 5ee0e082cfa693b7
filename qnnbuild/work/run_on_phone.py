"""Runs the graph of this folder on a phone and judges its answers as the build would.

Pushes the binary, the libraries that run it and the inputs with adb, runs Qualcomm's qnn-net-run,
pulls the answers and compares them with those of the original model. Needs Python 3.11, numpy and
adb, and a phone that adb sees. This file is Apache-2.0; what else lies here is not: README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
JUDGE = HERE / "judge"
"""The build's own measures and bars."""

Args = argparse.Namespace
Phone = Mapping[str, Any]

NOT_JUDGED = 3
ENDED = re.compile(r"^ended with (\d+)$", re.MULTILINE)
LAST_LINES = 15
DTYPES = {"bool8": "uint8", "bool": "uint8"}

NO_SKEL = ("4000", "14001", "err 1008", "error 1008", "Failed to load skel")
NO_SKEL_HINT = (
    "4000, 14001 and 1008 mean that the phone's Hexagon found no skel that it could load: "
    "{skel} of the very same SDK, in a folder of ADSP_LIBRARY_PATH, whose folders stand apart by ;"
)
OTHER_SDK = ("Stub lib id mismatch", "err 5000", "0x1388", "Create From Binary failure")
OTHER_SDK_HINT = "libraries of another SDK are on the phone, or another chip's binary is here"


class Stop(Exception):
    """What ends the program, in words."""


def main(words: Sequence[str] | None = None) -> int:
    try:
        return _run(_parser().parse_args(words))
    except Stop as stop:
        sys.stderr.write(f"run_on_phone.py: {stop}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    end = (
        "exit codes: 0 all bars hold; 1 one does not, or it could not be run; 2 wrong use; "
        f"{NOT_JUDGED} it ran, and there is no bar that it could be held against"
    )
    parser = argparse.ArgumentParser("run_on_phone.py", None, __doc__, end, formatter_class=form)
    add = parser.add_argument
    add("--adb", default="adb", help="the program (usual: adb, as it is on PATH)")
    add("--serial", metavar="NAME", help="which phone, where adb sees several")
    add("--keep", action="store_true", help="leave the files on the phone")
    add("--output", type=Path, default=HERE / "results", help="where answers and numbers go")
    return parser


def _run(args: Args) -> int:
    phone: Phone = json.loads((HERE / "phone.json").read_text(encoding="utf-8"))
    _check_files(phone)
    name = _connected(args, phone)
    _push(args, phone)
    said = _adb(args, "shell", phone["command"])
    with tempfile.TemporaryDirectory() as scratch:
        _check_ended(phone, said)
        pulled = Path(scratch) / "results"
        _adb(args, "pull", f"{phone['folder']}/results", str(pulled))
        if not args.keep:
            _adb(args, "shell", f"rm -rf {phone['folder']}")
        shutil.rmtree(args.output, ignore_errors=True)
        answers = args.output / "answers"
        answers.mkdir(parents=True)
        for number in range(phone["samples"]):
            found = {o["name"]: _answer(phone, pulled, number, o, said) for o in phone["outputs"]}
            _check_finite(phone, number, found, said)
            np.savez(answers / f"{number:06}.npz", **found)
    return _judge(args, phone, name)


def _check_files(phone: Phone) -> None:
    """All that is pushed is here, as it was made."""
    for name, wanted in phone["files"].items():
        path = HERE / name
        if not path.is_file():
            more = ": " + NO_SKEL_HINT.format(skel=name) if name == phone["skel"] else ""
            raise Stop(f"{name} is not here{more}")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                raise Stop(f"{name} is not the file that was made: build the folder again")


def _adb(args: Args, *words: str) -> str:
    """What adb said."""
    which = ["-s", args.serial] if args.serial else []
    argv = [args.adb, *which, *words]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise Stop(f"'{args.adb}' cannot be started: {error.strerror}; --adb says where") from None
    if done.returncode and not ENDED.search(done.stdout):
        said = " ".join(done.stdout.split())[-400:]
        raise Stop(f"`{shlex.join(argv)}` failed with exit code {done.returncode}: {said}")
    return done.stdout


def _connected(args: Args, phone: Phone) -> str:
    """The chip's name, as the phone says it."""
    if (state := _adb(args, "get-state").split()[-1:]) != ["device"]:
        raise Stop(f"adb sees no phone that is ready: {' '.join(state) or 'nothing'}")
    chip = " ".join(_adb(args, "shell", "getprop ro.soc.model").split())
    if chip and not chip.upper().startswith(phone["chip"].upper()):
        _say(f"the phone says that it is {chip}; the binary is for {phone['chip']}")
    return chip or "phone"


def _push(args: Args, phone: Phone) -> None:
    folder = phone["folder"]
    folders = sorted({str(Path(folder, name).parent) for name in phone["files"]})
    _adb(args, "shell", f"rm -rf {folder} && mkdir -p {' '.join(folders)}")
    for name in phone["files"]:
        _adb(args, "push", str(HERE / name), f"{folder}/{name}")
    _adb(args, "shell", f"chmod 755 {folder}/qnn-net-run")


def _check_ended(phone: Phone, said: str) -> None:
    ended = ENDED.search(said)
    failed = next((word for word in phone["failures"] if word in said), None)
    if ended is None:
        raise _failed(phone, said, "the phone ended the run without a word")
    if ended[1] != "0":
        raise _failed(phone, said, f"qnn-net-run ended with exit code {ended[1]}")
    if failed:
        raise _failed(phone, said, f"qnn-net-run ended with exit code 0 and said: {failed}")


def _failed(phone: Phone, said: str, message: str) -> Stop:
    """With its last words, what they mean, and how to repeat it."""
    told = "\n".join(f"  {line}" for line in said.splitlines()[-LAST_LINES:])
    hints = [
        hint.format(skel=phone["skel"])
        for words, hint in ((NO_SKEL, NO_SKEL_HINT), (OTHER_SDK, OTHER_SDK_HINT))
        if any(word in said for word in words)
    ]
    again = f"by hand: adb shell {shlex.quote(phone['command'])}"
    return Stop("\n".join([message, told, *hints[:1], again]))


def _answer(phone: Phone, pulled: Path, number: int, output: Mapping[str, Any], said: str) -> Any:
    """An array in the original's order and type."""
    results = [pulled / f"Result_{number}", pulled / phone["inner"] / f"Result_{number}"]
    names = [f"{output['tensor']}_native.raw", f"{output['tensor']}.raw"]
    paths = [folder / name for folder in results for name in names]
    path = next((one for one in paths if one.is_file()), None)
    if path is None:
        there = sorted(one.relative_to(pulled).as_posix() for one in pulled.rglob("*.raw"))
        raise _failed(
            phone, said, f"no answer for '{output['name']}'; it wrote {', '.join(there) or 'none'}"
        )
    data, dtype = path.read_bytes(), np.dtype(DTYPES.get(output["dtype"], output["dtype"]))
    count = int(np.prod(output["shape"], dtype=np.int64))
    scale = output.get("scale")
    if len(data) == 4 * count != dtype.itemsize * count and not path.stem.endswith("_native"):
        dtype, scale = np.dtype(np.float32), None
    if len(data) != dtype.itemsize * count:
        has = f"{len(data)} bytes, {dtype.itemsize * count} belong there"
        raise _failed(phone, said, f"the answer for '{output['name']}' has {has}")
    array = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(output["shape"])
    if scale is not None:
        array = ((array.astype(np.float64) + (output["offset"] or 0)) * scale).astype(np.float32)
    order = output["order"]
    array = np.ascontiguousarray(np.transpose(array, [order.index(i) for i in range(len(order))]))
    kind = output["kind"]
    if kind["kind"] == "quantized" and array.dtype.kind == "f":
        return np.rint(array / kind["scale"]) + kind["zero_point"]
    return array.astype(output["as"]) if output["as"] else array


def _check_finite(phone: Phone, number: int, found: Mapping[str, Any], said: str) -> None:
    """Nothing is lost that the original has; without it, nothing at all."""
    file = HERE / "expected" / f"{number:06}.npz"
    expected = np.load(file) if file.is_file() else {}
    for name, answer in found.items():
        if answer.dtype.kind != "f":
            continue
        lost = ~np.isfinite(answer)
        if name in expected and expected[name].shape == answer.shape:
            lost &= np.isfinite(expected[name])
        if count := int(np.count_nonzero(lost)):
            what = f"{count} of {answer.size} values of the output '{name}' are NaN or infinite"
            raise _failed(phone, said, what)


def _judge(args: Args, phone: Phone, chip: str) -> int:
    """The build's own numbers and verdict."""
    sys.path.insert(0, str(JUDGE))
    from qnnbuild.work.bars import Bar
    from qnnbuild.work.numbers import compare_folders
    from qnnbuild.work.run import Run, WorkError
    from qnnbuild.work.verdict import verdict

    kinds = {output["name"]: output["kind"] for output in phone["outputs"]}
    answers = args.output / "answers"
    numbers = {**phone["numbers"], "ran_on": {"host": chip, "nodes": {}}, "outputs": {}}
    if phone["numbers"]["why_not"] is None and (HERE / "expected").is_dir():
        numbers["outputs"] = compare_folders(answers, HERE / "expected", kinds)
    if (HERE / "recorded").is_dir():
        numbers["recorded"] = compare_folders(answers, HERE / "recorded", kinds)
    text = json.dumps(numbers, indent=1, ensure_ascii=False, sort_keys=True)
    (args.output / "numbers.json").write_text(text + "\n", encoding="utf-8")
    folders = {"numbers": args.output}
    try:
        verdict(Run(params=phone["verdict"], inputs=folders, outputs={"verdict": args.output}))
    except WorkError as error:
        _say(f"error: {error.message}")
        for name, told in error.facts:
            _say(f"  {name}: {told}")
        return 1
    judged = json.loads((args.output / "verdict.json").read_text(encoding="utf-8"))
    for bar in judged["bars"]:
        _say(f"{bar['of']}: {Bar(**bar).words()}: holds")
    if not judged["bars"]:
        why = judged["why_not"] or "no bar of the recipe is about answers alone"
        _say(f"'{phone['graph']}' on {chip} ran and is not judged ({why}): {args.output}")
        return NOT_JUDGED
    _say(f"'{phone['graph']}' on {chip} is good: {args.output}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
