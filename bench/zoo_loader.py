"""The loader of same_graph.py: like the real one, it imports the builder only when needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qnnbuild.bridge.loader import Loader

if TYPE_CHECKING:
    from fake_zoo import Zoo


class ZooLoader(Loader):
    def open_session(
        self, root: Path, recipes: tuple[str, ...] | None, unseen: frozenset[str]
    ) -> Zoo:
        from fake_zoo import Zoo

        return Zoo(root, recipes, unseen)
