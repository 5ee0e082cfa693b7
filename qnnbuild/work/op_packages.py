"""packages: the user's libraries for operators of their own, looked at before anything loads them.

The plugin loads a library in a process that compiles, and what is wrong with it is one line in a
log: a missing symbol and a library for another machine read alike, "Could not open op package
path". So each library is read here, as a file, and nothing of it is run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qnnbuild.errors import did_you_mean
from qnnbuild.formats.elf_file import ElfFacts, read_elf
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.op_definition import OpDefinition, read_op_definitions
from qnnbuild.work.run import Run, WorkError

OPERATORS = "operators.json"
HERE = "x86-64"
DEVICE = {"CPU": "arm64", "HTP": "Hexagon"}
"""What a package is registered for on a device → the machine that its library is for."""

STARTS = ("op_pkg_init", "qhpi_init")
"""libQnnHtp asks a library for one of these; without both it is closed again, seen with the dynamic
linker's own log (onnxruntime-qnn 2.7.0)."""

MOST_NAMES = 6


def packages(run: Run) -> None:
    """Input "files" → outputs "here" (libraries that compile), "device", "operators".

    `params`: {packages: [{op, interface, library, on_device, xml}]}, files by their paths; what was
    built has `built`, the input that it is in.
    """
    known: dict[str, Any] = {}
    for package in run.params["packages"]:
        place = f"op_packages.{package['op']}"
        facts = _library(run, package, package["library"], f"{place}.library", HERE)
        _check_start(facts, package, f"{place}.library")
        _take(run, package, package["library"], run.outputs["here"])
        for target, file in package["on_device"].items():
            _library(run, package, file, f"{place}.on_device.{target}", DEVICE[target])
            _take(run, package, file, run.outputs["device"] / "op_packages" / target.lower())
        known[package["op"]] = _definition(run, package, f"{place}.xml")
    text = json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["operators"] / OPERATORS).write_text(text + "\n", encoding="utf-8")


def _library(run: Run, package: Mapping[str, Any], file: str, place: str, machine: str) -> ElfFacts:
    name = Path(file).name
    try:
        facts = read_elf(_place(run, package, file).read_bytes())
    except FormatError as error:
        raise _bad(f"the library '{name}' of '{package['op']}' is {error}", place) from None
    if facts.machine != machine:
        raise _bad(
            f"the library '{name}' of '{package['op']}' is for {facts.machine}, "
            f"and {machine} is wanted",
            place,
            hint=_BUILT.get(machine),
        )
    if not facts.is_library:
        raise _bad(f"'{name}' of '{package['op']}' is a program or an object, no library", place)
    symbol = package["interface"]
    if symbol not in facts.exports:
        functions = sorted(n for n in facts.exports if "nterface" in n or "rovider" in n)
        raise _bad(
            f"the library '{name}' of '{package['op']}' does not export '{symbol}'",
            place.rpartition(f"{package['op']}.")[0] + f"{package['op']}.interface",
            facts=[("it exports", _some(functions or sorted(facts.exports)))],
            hint=did_you_mean(symbol, facts.exports),
        )
    return facts


_BUILT = {
    HERE: "what compiles here is built by make htp_x86; libraries for devices go to on_device:",
    "arm64": "what registers the package on a device is built by make htp_aarch64",
    "Hexagon": "what computes it on a device is built by make htp_v79 and the like",
}


def _check_start(facts: ElfFacts, package: Mapping[str, Any], place: str) -> None:
    if not facts.exports.intersection(STARTS):
        name = Path(package["library"]).name
        raise _bad(
            f"the library '{name}' of '{package['op']}' is no package for the HTP",
            place,
            facts=[("it exports neither", " nor ".join(STARTS))],
            hint="build it for the HTP: make htp_x86 (all_x86 makes one for QNN's CPU backend)",
        )


def _definition(run: Run, package: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """What the XML says of the operator; None without one."""
    if package["xml"] is None:
        return None
    name = Path(package["xml"]).name
    try:
        read = read_op_definitions((run.inputs["files"] / package["xml"]).read_bytes())
    except FormatError as error:
        raise _bad(f"'{name}' is no definition of operators: {error}", place) from None
    one: OpDefinition | None = read.operators.get(package["op"])
    if one is None:
        raise _bad(
            f"'{name}' does not define the operator '{package['op']}'",
            place,
            facts=[("it defines", _some(sorted(read.operators)))],
            hint=did_you_mean(package["op"], read.operators),
        )
    return asdict(one)


def _take(run: Run, package: Mapping[str, Any], file: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_place(run, package, file), folder / Path(file).name)


def _place(run: Run, package: Mapping[str, Any], file: str) -> Path:
    """A file of the repo, or what was built of its sources."""
    return run.inputs[package.get("built", "files")] / file


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "") or "nothing"


def _bad(
    message: str,
    place: str,
    *,
    facts: list[tuple[str, str]] | None = None,
    hint: str | None = None,
) -> WorkError:
    return WorkError(message, place=place, facts=facts or (), hint=hint, exit_code=2)
