"""verify for the toolchain `ort`: the very files that ship are run on the host's HTP emulator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.work.answers import compared
from qnnbuild.work.arrays import array_files
from qnnbuild.work.emulator import Emulated, Emulation, emulate
from qnnbuild.work.own_libraries import own_option, put_libraries
from qnnbuild.work.press import PROVIDER
from qnnbuild.work.read_back import Compiled, check_chip, check_graphs, not_good, read_back
from qnnbuild.work.reference import REFERENCE
from qnnbuild.work.run import Run, WorkError


def verify(run: Run) -> None:
    """Inputs "context", "facts", "samples", "reference" (and "recorded") → "outputs", "numbers".

    The emulator computes binaries of every HTP generation and takes one for another's without
    a word, so the chip is read in the binary itself.
    """
    params = run.params
    ctx_name = f"{params['stem']}_ctx.onnx"
    compiled = read_back(run.inputs["context"], ctx_name)
    _check_files(run, compiled)
    check_chip(compiled, params["soc_model"], params["reads_back"])
    check_graphs(compiled)
    if compiled.ctx.other_nodes and not params["cpu_fallback"]:
        raise not_good(f"{compiled.ctx.other_nodes} nodes of {ctx_name} would run on the CPU")
    said: dict[str, Any] = json.loads(
        (run.inputs["reference"] / REFERENCE).read_text(encoding="utf-8")
    )
    put_libraries(run, Path.cwd())
    emulated = emulate(
        Emulation(
            model=run.inputs["context"] / ctx_name,
            options={
                "backend_type": "htp",
                "soc_model": str(params["soc_model"]),
                **own_option(params),
            },
            entries={} if params["cpu_fallback"] else {"session.disable_cpu_ep_fallback": "1"},
            samples=array_files(run.inputs["samples"]),
            outputs=run.outputs["outputs"],
        )
    )
    _check_ran(run, emulated)
    numbers = _numbers(run, compiled, emulated, said)
    text = json.dumps(numbers, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["numbers"] / "numbers.json").write_text(text + "\n", encoding="utf-8")


def _check_files(run: Run, compiled: Compiled) -> None:
    """The files are those that the compiler made, to the byte."""
    told = run.inputs["facts"] / f"{run.params['stem']}.json"
    facts = json.loads(told.read_text(encoding="utf-8"))
    for path in compiled.files:
        wanted = facts["files"].get(path.name, {}).get("digest", "none")
        found = digest_file(path)
        if found != wanted:
            raise not_good(
                f"{path.name} is not the file that was compiled",
                facts=[("sha256", found), ("compiled", wanted)],
            )


def _check_ran(run: Run, emulated: Emulated) -> None:
    if emulated.crash is not None:
        raise WorkError(
            f"the emulator died of the binary ({emulated.crash})",
            place="graph",
            hint="its last words are in the log",
            exit_code=5,
        )
    if emulated.error is not None:
        raise WorkError(
            "the binary does not run on the emulator",
            place="graph",
            facts=[("it says", " ".join(emulated.error.split())[:400])],
            exit_code=5,
        )
    elsewhere = {name: count for name, count in emulated.ran_on.items() if name != PROVIDER}
    if PROVIDER not in emulated.ran_on or (elsewhere and not run.params["cpu_fallback"]):
        raise WorkError(
            "the graph did not run on the NPU alone",
            place="graph",
            facts=[(name, f"{count} nodes") for name, count in emulated.ran_on.items()],
            exit_code=5,
        )


def _numbers(
    run: Run, compiled: Compiled, emulated: Emulated, said: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "graph": run.params["graph"],
        "chip": {
            "soc_model": compiled.binary.soc_model,
            "soc_type": compiled.binary.soc_type,
            "arch": compiled.binary.arch,
        },
        "sdk_build": compiled.binary.sdk_build,
        "ran_on": {"host": "HTP emulator", "nodes": dict(emulated.ran_on)},
        "binary": {path.name: digest_file(path) for path in compiled.files},
        **compared(run, said),
    }
