"""What fills the folders of an action's inputs; what has gone from the store is made again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qnnbuild.actions.action import Action, OutputOf, Provenance
from qnnbuild.actions.record import Tree
from qnnbuild.digest import Json, canonical, digest_bytes
from qnnbuild.engine.inputs import Changed, stage_artifacts
from qnnbuild.engine.runner import Stage

if TYPE_CHECKING:
    from qnnbuild.engine.builder import Builder

PROVENANCE = "provenance.json"


def stages_of(
    builder: Builder, action: Action, reaches: Callable[[Tree], bool]
) -> dict[str, Stage]:
    """Input → what fills its folder; what `reaches` is there already where the action runs.

    Raises Changed when an input comes out as another than it was when the key was made.
    """
    # all are known before the first is brought: to make one again unsettles the others
    trees = {name: builder.tree(action, name) for name in action.inputs}
    told = any(isinstance(source, Provenance) for source in action.inputs.values())
    origin = provenance_of(builder, action) if told else b""
    stages = {}
    for name, source in action.inputs.items():
        tree = trees[name]
        if isinstance(source, OutputOf):
            if not reaches(tree):
                builder.bring(source.action, tree)
            fill = partial(stage_artifacts, builder.store, tree)
        elif isinstance(source, Provenance):
            if digest_bytes(origin) != tree.files[PROVENANCE][0]:
                raise Changed  # another build made something of it anew just now
            fill = partial(_write, origin)
        else:
            fill = partial(builder.inputs.stage, action, name, tree)
        stages[name] = Stage(tree=tree, fill=fill)
    return stages


def provenance_of(builder: Builder, action: Action) -> bytes:
    """Keys, tools and digests of all that `action` stands on, as canonical JSON."""
    told: dict[str, Json] = {}
    for needed in builder.plan.upto(action.needs()):
        record = builder.record(needed.name)
        told[needed.name] = {
            "step": needed.step,
            "key": record.key,
            "tool": record.parts["tool"],
            "inputs": record.parts["inputs"],
            "outputs": {name: tree.digest for name, tree in record.outputs.items()},
        }
    return canonical(told)


def _write(text: bytes, to: Path) -> None:
    (to / PROVENANCE).write_bytes(text)
