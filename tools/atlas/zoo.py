"""The published models that this repo's store has, as they are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from qnnbuild.commands.foreseen import at_hand_by_graph
from qnnbuild.session import open_session


def models_at_hand(root: Path | None = None) -> Iterator[tuple[str, Path]]:
    """Graph → its model, of all that need nothing made first."""
    session = open_session(root)
    for graph, found in at_hand_by_graph(session):
        if found is not None and found.was in ("convert", "prepare"):
            yield graph, found.path
