"""archive: a bundle as a single file, called and made up as users know it."""

from __future__ import annotations

from collections.abc import Sequence

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.digest import Json
from qnnbuild.model.recipe import ARCHIVES, Target
from qnnbuild.model.sdks import published
from qnnbuild.steps.bundle import BUNDLE, WRITERS

DEADLINE_S = 1800.0
"""Half a GB takes two minutes on a slow machine."""


def archive(
    targets: Sequence[Target],
    bundle: Action,
    name: str,
    *,
    chip: str = "",
    system: str = "",
) -> Action:
    """`bundle` as `<name>.tar.bz2`; of libraries those for `system`, as the SDK calls it.

    `chip` is what {chip} stands for in info.txt.
    """
    first = targets[0]
    lines: list[Json] = [
        f"{key}={value.replace('{chip}', chip)}" for key, value in first.bundle.info.items()
    ]
    if system:
        lines.append(f"target={published(system)}")
    return Action(
        name=f"archive/{name}",
        step="archive",
        call="qnnbuild.work.archive:archive",
        params={
            "name": name,
            "kind": "library" if system else "context",
            "target": published(system) if system else None,
            "info": lines,
        },
        inputs={"bundle": OutputOf(action=bundle.name, output=BUNDLE)},
        outputs=("archive",),
        tools=WRITERS,
        deadline_s=DEADLINE_S,
        places=first.places,
        lands=f"{ARCHIVES}/{name}",
        group=first.model,
        about=f"{bundle.about} as one file",
    )
