"""on-device: a folder that runs one binary on a phone, for what only the phone can tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.digest import Json
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import ON_DEVICE, Chip, Graph, Target
from qnnbuild.model.sdk_runtime import phone_files, phone_part
from qnnbuild.steps.verify import bars_of
from qnnbuild.toolchains.qairt_extensions import device_part
from qnnbuild.toolchains.work import Toolchain

CALLS = {"qnnbuild.work.verify_qairt:verify": "qnnbuild.work.on_device_qairt:folder"}
"""How a binary is run on the host → what makes a folder that runs it on a phone."""

ON_PHONE = "/data/local/tmp/qnnbuild"
"""Where anybody who may use adb may run programs."""


def on_device(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    *,
    compiled: str,
    stem: str,
    given: Mapping[str, OutputOf],
    name: str,
) -> Action:
    """`compiled` is what ships, also where the host runs each of its graphs alone.

    `given` are "samples" and "reference", and "recorded" and "packages" where there are any.
    """
    work, chip = toolchain.verify(graph, target.chip, stem), target.chip
    where = [p for p in (target.model, target.variant, chip.name, graph.name) if p]
    part = phone_part(chip.arch)
    made = {output: OutputOf(action=compiled, output=output) for output in ("context", "facts")}
    return Action(
        name=name,
        step="on-device",
        call=CALLS[work.call or ""],
        params={
            **work.params,
            **_judged(target, graph),
            "files": [*phone_files(part)],
            "folder": f"{ON_PHONE}/{'-'.join(where)}",
        },
        inputs={**made, **given},
        outputs=("folder",),
        tools=(f"qairt:{target.toolchain}/{part}", "package:numpy"),
        passes=work.passes,
        deadline_s=graph.deadline_s,
        places=graph.places,
        lands="/".join((ON_DEVICE, *where)),
        group=target.model,
        about=f"what runs {graph.name} on a phone with {chip.name}",
    )


def _judged(target: Target, graph: Graph) -> dict[str, Json]:
    """How the phone runs it and what it must reach: metrics of the user's own stay here."""
    chip = target.chip.name
    return {
        "model": target.model,
        "chip": chip,
        "device": device_part(graph),
        "verdict": {
            "graph": graph.name,
            "chip": chip,
            "debug": None,
            "bars": bars_of(graph.verify),
            "metrics": {},
        },
    }


def problems(graph: Graph, chip: Chip, toolchain: Toolchain) -> Iterable[Problem]:
    """A folder for a phone is asked for, and the toolchain makes none."""
    if not graph.verify.on_device or graph.backend != "htp":
        return
    if toolchain.verify(graph, chip, graph.name).call not in CALLS:
        yield Problem(
            message=f"the toolchain {toolchain.name} makes no folder for a phone",
            at=graph.places.get("verify.on_device", graph.places.get("verify")),
            hint="leave it out: `python run.py --compare …` in the bundle does it on the device",
        )
