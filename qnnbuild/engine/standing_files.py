"""The files on which it stands that an action is current, and the log of its run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qnnbuild.actions.action import OutputOf, Provenance
from qnnbuild.engine.state import Current, Waits
from qnnbuild.errors import QnnbuildError

if TYPE_CHECKING:
    from qnnbuild.engine.builder import Builder


def paths_of(builder: Builder, name: str) -> tuple[list[Path], list[Path]]:
    """Of a current action: what it reads of the repo, and the files that must be there.

    Folders count as read where a new file in them would be an input.
    """
    action = builder.plan[name]
    sources = [
        path
        for input_name, source in action.inputs.items()
        if not isinstance(source, OutputOf | Provenance)
        for path in builder.inputs.watched(action, input_name)
    ]
    outputs = builder.record(name).outputs
    kept = [
        builder.store.path(digest) for tree in outputs.values() for digest, _ in tree.files.values()
    ]
    if action.lands is not None:
        (tree,) = outputs.values()
        kept += [builder.folder.root / action.lands / path for path in tree.files]
    return sources, kept


def log_of(builder: Builder, name: str) -> Path | None:
    """Where a run of `name` with its present key leaves its log; None: the key is not known."""
    try:
        state = builder.state(name)
    except QnnbuildError:  # what is wrong with its sources is told where it is made
        return None
    if isinstance(state, Waits):
        return None
    return builder.store.log(state.record.key if isinstance(state, Current) else state.key)
