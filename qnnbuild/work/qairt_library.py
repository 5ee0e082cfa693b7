"""library for Qualcomm's SDK: converted C++ becomes a shared library, which is then looked at."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.formats.elf_file import read_elf
from qnnbuild.formats.elf_pages import page_bytes
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import same_version
from qnnbuild.work.qairt_border import border
from qnnbuild.work.qairt_sdk import HOST, Ended, Sdk, run_tool, sdk_here, version_of
from qnnbuild.work.run import Run, WorkError

TOOL = ("{python}", f"{{sdk}}/bin/{HOST}/qnn-model-lib-generator")
ENTRY = "QnnModel_composeGraphs"
MOST_WEIGHTS = 2 << 30
"""What the linker reaches on x86-64: beyond it ends with 'relocation truncated to fit'."""

BUILD = re.compile(rb"qaisw-v([0-9]+(?:\.[0-9]+){3}(?:_[0-9]+)?)")


def library(run: Run) -> None:
    """Input "model" → outputs "library" (`<target>/lib<stem>.so`) and "facts".

    With the library that is compiled from goes what the converter tells of the graph.
    `params`: stem, target, machine (as ELF headers say it), page_bytes (0: any), ldflags.
    """
    stem, target = run.params["stem"], run.params["target"]
    weights = run.inputs["model"] / f"{stem}.bin"
    _check_weights(weights, target)
    argv = [*TOOL, *words(stem, target, weights=weights.is_file())]
    sdk = sdk_here()
    more = {"LDFLAGS": run.params["ldflags"], **_cross(sdk, target)}
    ended = run_tool(run, sdk, argv, more=more)
    path = run.outputs["library"] / target / f"lib{stem}.so"
    if not path.is_file() or not path.stat().st_size:
        made = sorted(p.name for p in run.outputs["library"].rglob("*") if p.is_file())
        raise ended.failure(
            f"qnn-model-lib-generator ended well and did not make {target}/{path.name}",
            facts=[("it made", ", ".join(made) or "nothing")],
        )
    facts = {
        "target": target,
        "file": f"{target}/{path.name}",
        "digest": digest_file(path),
        "size": path.stat().st_size,
        **_looked_at(run, path, ended),
    }
    if target == HOST:
        net = run.inputs["model"] / f"{stem}_net.json"
        facts["border"] = border(json.loads(net.read_text(encoding="utf-8")))
        shutil.copyfile(net, run.outputs["library"] / net.name)
    text = json.dumps(facts, indent=1, sort_keys=True)
    (run.outputs["facts"] / "library.json").write_text(text + "\n", encoding="utf-8")


def words(stem: str, target: str, *, weights: bool) -> list[str]:
    """The tool's words for one system. It calls the library as the weights' file is called.

    Without weights it would be `qnn_model`, so there it is told.
    """
    named = ["-b", f"{{in.model}}/{stem}.bin"] if weights else ["-l", stem]
    return ["-c", f"{{in.model}}/{stem}.cpp", *named, "-t", target, "-o", "{out.library}"]


def _cross(sdk: Sdk, target: str) -> dict[str, str]:
    """The variables of the compiler for that system, whose programs may call one another."""
    folders = dict(sdk.cross.get(target, {}))
    if not folders:
        return {}
    programs = [str(Path(folder) / "usr" / "bin") for folder in folders.values()]
    return {**folders, "PATH": ":".join(dict.fromkeys((sdk.environment()["PATH"], *programs)))}


def _check_weights(path: Path, target: str) -> None:
    if path.is_file() and path.stat().st_size > MOST_WEIGHTS:
        raise WorkError(
            f"the weights have {path.stat().st_size / (1 << 30):.1f} GiB; a library for {target} "
            "holds 2",
            place="precision",
            hint="precision: fp16 halves them, w8a16 quarters them, and options: {qairt: {route: "
            "dlc}} links none",
        )


def _looked_at(run: Run, path: Path, ended: Ended) -> dict[str, Any]:
    data = path.read_bytes()
    target, wanted = run.params["target"], run.params["page_bytes"]
    try:
        elf, pages = read_elf(data), page_bytes(data)
    except FormatError as error:
        raise ended.failure(f"{path.name} is not whole: {error}", exit_code=5) from None
    if elf.machine != run.params["machine"] or not elf.is_library:
        raise ended.failure(
            f"{path.name} is no library for {target}",
            facts=[("it is for", elf.machine)],
            exit_code=5,
        )
    if ENTRY not in elf.exports:
        raise ended.failure(f"{path.name} has no function {ENTRY}", exit_code=5)
    if pages < wanted:
        raise ended.failure(
            f"{path.name} cannot be loaded where pages have {wanted >> 10} KB",
            facts=[("its pages", f"{pages >> 10} KB")],
            hint="an NDK from r28 on aligns libraries for it",
            exit_code=5,
        )
    return {"page_bytes": pages, "sdk_build": _build(data, path.name, ended)}


def _build(data: bytes, name: str, ended: Ended) -> str | None:
    """What the library says of the SDK that it is of: no other one compiles or loads it."""
    found = BUILD.search(data)
    if found is None:
        return None
    build, ours = found[1].decode("ascii"), version_of(sdk_here())
    if not same_version(ours, build):
        raise ended.failure(
            f"{name} was made by SDK {build.partition('_')[0]}, and this is {ours}",
            place="toolchain",
            hint="lib/python and the converter are of another SDK: unpack this one again",
            exit_code=5,
        )
    return build
