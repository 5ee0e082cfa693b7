"""runtime: libraries of the SDK that go along where its licence lets a recipe's author say so."""

from __future__ import annotations

from collections.abc import Sequence

from qnnbuild.actions.action import Action
from qnnbuild.digest import Json
from qnnbuild.model.recipe import Target
from qnnbuild.model.sdk_runtime import TEXTS, runtime_files, runtime_part
from qnnbuild.model.sdks import published, variable_of

RUNTIME = "libraries"


def runtime(target: Target, system: str, archs: Sequence[int], *, prepares: bool) -> Action:
    """Those of the target's toolchain. Models that need the same share what is made."""
    part = runtime_part(system, archs, prepares=prepares)
    files: list[Json] = list(runtime_files(part))
    behind = "+prepares" if prepares else ""
    generations = "+".join(f"v{arch}" for arch in sorted(set(archs)))
    return Action(
        name=f"runtime/{target.model}/{target.toolchain}/{system}/{generations}{behind}",
        step="runtime",
        call="qnnbuild.work.qairt_runtime:runtime",
        params={"files": files, "texts": list(TEXTS), "target": published(system)},
        outputs=(RUNTIME,),
        tools=(f"qairt:{target.toolchain}/{part}", "package:pyelftools"),
        passes=(variable_of(target.toolchain),),
        places=target.places,
        group=target.model,
        about=f"what runs {target.model} on {system}",
    )
