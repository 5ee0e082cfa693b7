"""The chain of actions that finds a precision, for one use of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qnnbuild.steps.search import (
    Try,
    attempt,
    emulate,
    judge,
    promising,
    sensitivity,
    taken,
    tries_of,
)

if TYPE_CHECKING:
    from qnnbuild.actions.action import Action
    from qnnbuild.model.recipe import Chip
    from qnnbuild.plans.names import Names, Use
    from qnnbuild.toolchains.work import Toolchain


@dataclass(kw_only=True)
class Search:
    """Tries, and between two of them a judge: after one that holds the bars none has work to do."""

    use: Use
    names: Names
    toolchain: Toolchain
    prepared: str
    calibrated: str
    shown: str  # the samples of the verdict
    chip: Chip  # on whose emulator tries are judged
    actions: list[Action] = field(default_factory=list)

    def converted(self) -> Action:
        """convert, which takes what was found; `actions` are those that it needs."""
        use = self.use
        attempted: list[str] = []
        judged: list[str] = []
        sensitive: str | None = None
        *quantized, last = tries_of(use.graph)
        for one in quantized:
            if one.lifts and sensitive is None:
                sensitive = self._sensitivity(attempted[-1], judged[-1])
            decided = judged[-1] if judged else None
            attempted.append(self._attempt(len(attempted), one, decided, sensitive))
            judged.append(self._judge(len(judged), one, attempted[-1], decided))
        attempted.append(self._attempt(len(attempted), last, judged[-1], None))
        return self.names.shared(
            f"convert/{use.base}+{use.graph.precision}",
            use,
            lambda name: taken(
                use.target, use.graph, attempted=attempted, judged=judged, name=name
            ),
        )

    @property
    def _base(self) -> str:
        """With the word where it tells one search of a graph from another."""
        word = self.use.graph.precision
        return self.use.base if word == "auto" else f"{self.use.base}/{word}"

    def _attempt(self, number: int, one: Try, decided: str | None, sensitive: str | None) -> str:
        use = self.use
        return self._added(
            f"search/{self._base}/{number:02}-{one.label}",
            lambda name: attempt(
                use.target,
                use.graph,
                self.toolchain,
                one,
                prepared=self.prepared,
                calibrated=self.calibrated,
                shown=self.shown,
                decided=decided,
                sensitive=sensitive,
                name=name,
            ),
        )

    def _judge(self, number: int, one: Try, attempted: str, decided: str | None) -> str:
        """On the CPU, then on the emulator, unless the recipe wants nothing to be run on it."""
        use = self.use
        label = f"{self._base}/{number:02}-{one.label}"
        emulated = None
        if use.graph.verify.chips != ("none",):
            emulated = self._emulate(label, one, attempted)
        return self._added(
            f"judge/{label}",
            lambda name: judge(
                use.target,
                use.graph,
                one,
                attempted=attempted,
                emulated=emulated,
                decided=decided,
                name=name,
            ),
        )

    def _emulate(self, label: str, one: Try, attempted: str) -> str:
        use = self.use
        promised = self._added(
            f"judge/{label}/cpu",
            lambda name: promising(use.target, use.graph, one, attempted=attempted, name=name),
        )
        return self._added(
            f"emulate/{label}",
            lambda name: emulate(
                use.target,
                use.graph,
                self.toolchain,
                one,
                prepared=self.prepared,
                shown=self.shown,
                attempted=attempted,
                decided=promised,
                chip=self.chip,
                name=name,
            ),
        )

    def _sensitivity(self, attempted: str, decided: str) -> str:
        use = self.use
        return self._added(
            f"sensitivity/{self._base}",
            lambda name: sensitivity(
                use.target,
                use.graph,
                prepared=self.prepared,
                calibrated=self.calibrated,
                attempted=attempted,
                decided=decided,
                name=name,
            ),
        )

    def _added(self, base: str, make: Callable[[str], Action]) -> str:
        action = self.names.shared(base, self.use, make)
        self.actions.append(action)
        return action.name
