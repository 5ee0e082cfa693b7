"""The chain of actions that finds a precision, for one use of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qnnbuild.steps.search import Try, attempt, sensitivity, taken, tries_of

if TYPE_CHECKING:
    from qnnbuild.actions.action import Action
    from qnnbuild.model.recipe import Chip
    from qnnbuild.plans.names import Names, Use
    from qnnbuild.toolchains.work import Toolchain


@dataclass(kw_only=True)
class Search:
    """Tries that know the one before them, so that one that holds its bar is the last to work."""

    use: Use
    names: Names
    toolchain: Toolchain
    prepared: str
    calibrated: str
    chip: Chip  # on whose emulator tries are judged
    actions: list[Action] = field(default_factory=list)

    def converted(self) -> Action:
        """convert, which takes what was found; `actions` are those that it needs."""
        use = self.use
        before: str | None = None
        sensitive: str | None = None
        for number, one in enumerate(tries_of(use.graph)):
            if one.lifts and sensitive is None and before is not None:
                sensitive = self._sensitivity(before)
            before = self._attempt(number, one, before, sensitive)
        assert before is not None
        last = before
        return self.names.shared(
            f"convert/{use.base}+{use.graph.precision}",
            use,
            lambda name: taken(use.target, use.graph, last=last, name=name),
        )

    @property
    def _base(self) -> str:
        """With the word where it tells one search of a graph from another."""
        word = self.use.graph.precision
        return self.use.base if word == "auto" else f"{self.use.base}/{word}"

    def _attempt(self, number: int, one: Try, before: str | None, sensitive: str | None) -> str:
        use = self.use
        action = self.names.shared(
            f"search/{self._base}/{number:02}-{one.label}",
            use,
            lambda name: attempt(
                use.target,
                use.graph,
                self.toolchain,
                one,
                prepared=self.prepared,
                calibrated=self.calibrated,
                before=before,
                sensitive=sensitive,
                chip=self.chip,
                name=name,
            ),
        )
        self.actions.append(action)
        return action.name

    def _sensitivity(self, attempted: str) -> str:
        use = self.use
        action = self.names.shared(
            f"sensitivity/{self._base}",
            use,
            lambda name: sensitivity(
                use.target,
                use.graph,
                prepared=self.prepared,
                calibrated=self.calibrated,
                attempted=attempted,
                name=name,
            ),
        )
        self.actions.append(action)
        return action.name
