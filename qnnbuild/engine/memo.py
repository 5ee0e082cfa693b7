"""What a build knows already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest, Json
from qnnbuild.engine.state import State


@dataclass
class Memo:
    """An action's entry is valid until it is made."""

    trees: dict[str, dict[str, Tree]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    parts: dict[str, dict[str, Json]] = field(default_factory=dict)
    found: dict[str, Digest] = field(default_factory=dict)

    def forget(self, names: Iterable[str]) -> None:
        """All of it is to be found out again."""
        for name in names:
            self.states.pop(name, None)
            self.states.pop(f"record {name}", None)
            self.parts.pop(name, None)
            self.trees.pop(name, None)
