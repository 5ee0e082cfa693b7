"""Binaries for several chips: which targets have one, and the actions that compile it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from qnnbuild.actions.action import Action
from qnnbuild.model.recipe import Chip, Target
from qnnbuild.plans.contexts import Chain, fails
from qnnbuild.plans.names import Use
from qnnbuild.steps.context import Member, Single, context_for_chips
from qnnbuild.toolchains.work import Toolchain

LONE = 1


@dataclass(frozen=True, kw_only=True)
class MultiGraph:
    """One graph, for all chips of a group: each chip's own chain, and what compiled them all."""

    chains: tuple[Chain, ...]  # in the order of the group's targets
    compiled: Action


@dataclass(frozen=True, kw_only=True)
class MultiGroup:
    """Targets that differ in their chip only and ship with one binary for each graph."""

    name: str  # stands where a chip's name would
    targets: tuple[Target, ...]
    graphs: tuple[MultiGraph, ...]


def multi_groups(
    chains: Sequence[Chain], toolchains: Mapping[str, Toolchain]
) -> Iterator[MultiGroup]:
    """Groups as the recipe wants them, divided where chips get different models or options."""
    of_target: dict[int, list[Chain]] = defaultdict(list)
    for chain in chains:
        if chain.use.target.group and not fails(chain.use.target):
            of_target[id(chain.use.target)].append(chain)
    wanted: dict[Hashable, dict[Hashable, list[list[Chain]]]] = {}
    for some in of_target.values():
        target = some[0].use.target
        group = wanted.setdefault((target.toolchain, target.variant, target.group), {})
        group.setdefault(_likeness(some, toolchains[target.toolchain]), []).append(some)
    for parts in wanted.values():
        named = False
        for alike in parts.values():
            targets = tuple(some[0].use.target for some in alike)
            if len({target.chip.soc_model for target in targets}) == LONE:
                continue
            name = f"{targets[0].group}~{targets[0].chip.name}" if named else targets[0].group
            named = True
            yield _group(name, targets, alike, toolchains[targets[0].toolchain])


def _likeness(chains: Sequence[Chain], toolchain: Toolchain) -> Hashable:
    """Targets for which this is the same can have a binary in common."""
    return tuple(
        (chain.stem, chain.converted.name, toolchain.alike(chain.use.graph)) for chain in chains
    )


def _group(
    name: str, targets: tuple[Target, ...], alike: Sequence[Sequence[Chain]], toolchain: Toolchain
) -> MultiGroup:
    graphs = []
    for of_graph in zip(*alike, strict=True):
        one_each = _newest_first(of_graph)
        first = one_each[0]
        member = Member(
            graph=first.use.graph,
            stem=first.stem,
            prepared=first.prepared.name,
            converted=first.converted.name,
            packages=first.packages.name if first.packages else None,
        )
        action = context_for_chips(
            first.use.target,
            member,
            [
                Single(graph=c.use.graph, chip=c.use.target.chip, compiled=c.compiled.name)
                for c in one_each
            ],
            toolchain,
            name=f"context/{Use(targets[0], first.use.graph).base}@{name}",
        )
        graphs.append(MultiGraph(chains=tuple(of_graph), compiled=action))
    return MultiGroup(name=name, targets=targets, graphs=tuple(graphs))


def _newest_first(chains: Sequence[Chain]) -> list[Chain]:
    """One chain for each soc_model: part numbers that share one share its record.

    The first chip's weights are those that all share. Newer chips have all in the same form,
    older ones a few in another, so the newest comes first.
    """
    by_model: dict[int, Chain] = {}
    for chain in chains:
        by_model.setdefault(chain.use.target.chip.soc_model, chain)
    return sorted(by_model.values(), key=lambda chain: _age(chain.use.target.chip))


def _age(chip: Chip) -> tuple[int, int]:
    return -chip.arch, -chip.soc_model
