"""op-package: make builds a package for one system, out of a skeleton and the user's sources."""

from __future__ import annotations

import shutil
from pathlib import Path

from qnnbuild.errors import did_you_mean
from qnnbuild.formats.elf_file import ElfFacts, read_elf
from qnnbuild.formats.format_error import FormatError
from qnnbuild.work.op_packages import STARTS
from qnnbuild.work.qairt_sdk import Ended, run_tool, sdk_here
from qnnbuild.work.qairt_skeleton import CONVERTER, CONVERTER_SOURCE, OPS, package_folder
from qnnbuild.work.run import Run, WorkError

PLACE = Path("package")
MAKEFILE = "Makefile"
MACHINES = {"htp_x86": "x86-64", "htp_aarch64": "arm64", "all_x86": "x86-64"}
HEXAGON = "Hexagon"
MADE = ("build/*/*.so", "libs/*/*.so")


def build(run: Run) -> None:
    """Inputs "skeleton" and "sources" → output "library": one file, at the place `file`.

    `params`: target (what make is asked for), ops, interface, file, at (the place that says it).
    """
    target = run.params["target"]
    folder = laid_out(run)
    ended = run_tool(run, sdk_here(), ["make", "-C", folder.as_posix(), target])
    found = sorted(path for pattern in MADE for path in folder.glob(pattern))
    if len(found) != 1:
        names = ", ".join(path.relative_to(folder).as_posix() for path in found)
        raise ended.failure(
            f"make {target} ended well and made {len(found)} libraries",
            facts=[("looked in", "build and libs of the package"), ("found", names or "nothing")],
            place=_place(run, "sources"),
            exit_code=5,
        )
    _check(run, found[0], ended)
    made = run.outputs["library"] / run.params["file"]
    made.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found[0], made)


def converter(run: Run) -> None:
    """The same of the library that tells the SDK's converter shapes: one source in its place."""
    skeleton = package_folder(run.inputs["skeleton"])
    name = f"{skeleton.name}{CONVERTER}"
    folder = PLACE / name
    shutil.copytree(run.inputs["skeleton"] / name, folder)
    (source,) = (path for path in run.inputs["sources"].rglob("*") if path.is_file())
    shutil.copyfile(source, folder / CONVERTER_SOURCE)
    ended = run_tool(run, sdk_here(), ["make", "-C", folder.as_posix(), "cpu"])
    found = sorted(folder.rglob("*.so"))
    if len(found) != 1:
        raise ended.failure(
            f"make cpu ended well and made {len(found)} libraries", place=_place(run, "converter")
        )
    _machine(run, found[0], ended, "x86-64", "converter")
    shutil.copyfile(found[0], run.outputs["library"] / run.params["file"])


def laid_out(run: Run) -> Path:
    """The skeleton, in which the user's files stand in the place of the generated operators.

    A Makefile (also one called HTP_Makefile) and a file that the skeleton has under src/ take the
    place of the generated one; the rest goes to src/ops.
    """
    skeleton = package_folder(run.inputs["skeleton"])
    folder = PLACE / skeleton.name
    shutil.copytree(skeleton, folder)
    for path in (folder / OPS).iterdir():
        path.unlink()
    taken: dict[Path, Path] = {}
    for source in sorted(path for path in run.inputs["sources"].rglob("*") if path.is_file()):
        place = _place_of(source.name, folder)
        if place in taken:
            raise WorkError(
                f"two sources are called '{source.name}'",
                place=_place(run, "sources"),
                facts=[(source.name, str(p)) for p in (taken[place], source)],
                hint="they lie in one folder when they are compiled",
                exit_code=2,
            )
        taken[place] = source
        shutil.copyfile(source, place)
    if not any(place.suffix in (".cpp", ".cc", ".c") for place in taken):
        raise WorkError(
            "among the sources is no C++ file",
            place=_place(run, "sources"),
            facts=[("sources", ", ".join(sorted(place.name for place in taken)))],
            exit_code=2,
        )
    return folder


def _place_of(name: str, folder: Path) -> Path:
    if name == MAKEFILE or name.endswith(f"_{MAKEFILE}"):
        return folder / MAKEFILE
    if (folder / "src" / name).is_file():
        return folder / "src" / name
    return folder / OPS / name


def _check(run: Run, path: Path, ended: Ended) -> None:
    target, symbol = run.params["target"], run.params["interface"]
    facts = _machine(run, path, ended, MACHINES.get(target, HEXAGON), "sources")
    if symbol not in facts.exports:
        functions = sorted(name for name in facts.exports if "nterface" in name)
        raise ended.failure(
            f"{path.name} does not export '{symbol}'",
            facts=[("it exports", ", ".join(functions) or "no such function")],
            hint=did_you_mean(symbol, functions),
            place=_place(run, "interface"),
            exit_code=2,
        )
    _check_start(run, facts, path, ended)
    for op in run.params["ops"]:
        if op.encode() + b"\0" not in path.read_bytes():
            raise ended.failure(
                f"{path.name} has no operator '{op}'",
                hint="its source names it: DEF_PACKAGE_OP(…)",
                place=_place(run, "sources"),
                exit_code=2,
            )


def _machine(run: Run, path: Path, ended: Ended, machine: str, key: str) -> ElfFacts:
    try:
        facts = read_elf(path.read_bytes())
    except FormatError as error:
        raise ended.failure(f"{path.name} is {error}", exit_code=5) from None
    if facts.machine != machine or not facts.is_library:
        raise ended.failure(
            f"make made {path.name}, which is no library for {machine}",
            facts=[("it is for", facts.machine)],
            place=_place(run, key),
            exit_code=5,
        )
    return facts


def _check_start(run: Run, facts: ElfFacts, path: Path, ended: Ended) -> None:
    if run.params["target"] == "htp_x86" and not facts.exports.intersection(STARTS):
        raise ended.failure(
            f"{path.name} is no package for the HTP",
            facts=[("it exports neither", " nor ".join(STARTS))],
            hint="SupportedBackend of the XML: HTP",
            place=_place(run, "xml"),
            exit_code=2,
        )


def _place(run: Run, key: str) -> str:
    return f"{run.params['at']}.{key}"
