"""What actions are called: one name, one action."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import Graph, Source, Target


@dataclass(frozen=True)
class Use:
    """One graph of one target."""

    target: Target
    graph: Graph

    @property
    def base(self) -> str:
        variant = f"/{self.target.variant}" if self.target.variant else ""
        return f"{self.target.model}/{self.graph.name}{variant}"


class Names:
    """One name, one action. Chips that `only:` divides get names of their own behind a ~."""

    def __init__(self) -> None:
        self._known: defaultdict[str, list[Action]] = defaultdict(list)
        self._by_graph: dict[tuple[str, str, int], Action] = {}
        self._longest: dict[str, float] = {}  # deadlines, by the names of actions

    def shared(self, base: str, use: Use, make: Callable[[str], Action]) -> Action:
        """The action called `base`, or `base~CHIP` when another chip's differs from it."""
        memo = (
            base,
            use.target.toolchain,
            id(use.graph),
        )  # chips that nothing divides share the very same graph
        if memo in self._by_graph:
            return self._by_graph[memo]
        action = make(base)
        known = self._known[base]
        for other in known:
            if _is_alike(action, other):
                longest = self._longest.get(other.name, other.deadline_s)
                self._longest[other.name] = max(longest, action.deadline_s)
                self._by_graph[memo] = other
                return other
        if known:
            action = make(f"{base}~{use.target.chip.name}")
        known.append(action)
        self._by_graph[memo] = action
        return action

    def settled(self, action: Action) -> Action:
        """With the longest deadline of those that share it: once all are known."""
        longest = self._longest.get(action.name, action.deadline_s)
        return action if longest == action.deadline_s else replace(action, deadline_s=longest)


def _is_alike(action: Action, other: Action) -> bool:
    """Where the user wrote something, and how long it may take, make no other action."""
    ours = replace(action, name=other.name, places=other.places, deadline_s=other.deadline_s)
    return ours == other


def source_of(prepared: Action) -> str:
    """The name of the action that brought the model of a prepare action."""
    model = prepared.inputs["model"]
    assert isinstance(model, OutputOf)
    return model.action


def uses_of(targets: Sequence[Target]) -> dict[Source, list[Use]]:
    uses: dict[Source, list[Use]] = {}
    for target in targets:
        for graph in target.graphs:
            uses.setdefault(graph.source, []).append(Use(target, graph))
    return uses


def unit_name(
    unit: tuple[Source, ...],
    units: Sequence[tuple[Source, ...]],
    uses: Mapping[Source, Sequence[Use]],
) -> str:
    """The shortest name for what one fetch or export brings: its graph, its variant, both, none."""
    if len(units) == 1:
        return ""
    ours = [use for source in unit for use in uses[source]]
    others = [use for u in units if u is not unit for source in u for use in uses[source]]
    graphs = {use.graph.name for use in ours}
    variants = {use.target.variant for use in ours}
    if len(graphs) == 1 and not any(use.graph.name in graphs for use in others):
        return f"/{ours[0].graph.name}"
    if len(variants) == 1 and not any(use.target.variant in variants for use in others):
        return f"/{ours[0].target.variant}"
    return ours[0].base.removeprefix(ours[0].target.model)
