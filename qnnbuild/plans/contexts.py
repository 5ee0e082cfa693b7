"""Which graphs are compiled together, and which targets therefore ship in one folder."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from qnnbuild.actions.action import Action
from qnnbuild.model.recipe import Chip, Target
from qnnbuild.plans.names import Use
from qnnbuild.steps.context import Member, context
from qnnbuild.steps.wrap import wrapped_context
from qnnbuild.toolchains.work import Toolchain


@dataclass(frozen=True, kw_only=True)
class Link:
    """One graph of one target, and what prepared and converted it."""

    use: Use
    prepared: Action
    converted: Action


@dataclass(frozen=True, kw_only=True)
class Wrapped(Link):
    """A graph of a file that was made elsewhere: one action, wrap, stands where both would.

    Graphs that one target has of one file are held against the chip together, and it ships once.
    """


@dataclass(frozen=True, kw_only=True)
class Chain(Link):
    """A link and what compiled it: `compiled` makes `<stem>_ctx.onnx` and the facts of it."""

    compiled: Action
    stem: str
    together: tuple[str, ...]  # the actions that converted all that is in its binary, in order

    @property
    def kin(self) -> tuple[tuple[str, ...], str, int]:
        """Chips of one HTP generation that get the same binary stand for one another."""
        return self.together, self.stem, self.use.target.chip.arch


def chains_of(links: Sequence[Link], toolchains: Mapping[str, Toolchain]) -> list[Chain]:
    """`links` with the actions that compile them, in the same order: one for each group."""
    groups: dict[Hashable, list[Link]] = {}
    for link in links:
        groups.setdefault(_together(link), []).append(link)
    found: dict[int, Chain] = {}
    for group in groups.values():
        toolchain = toolchains[group[0].use.target.toolchain]
        found |= zip(map(id, group), _compiled(group, toolchain), strict=True)
    return [found[id(link)] for link in links]


def shipped_together(chains: Sequence[Chain]) -> list[list[Chain]]:
    """`chains` by the folder that they ship in: what may have a binary in common has one folder."""
    folders: dict[Hashable, list[Chain]] = {}
    for chain in chains:
        folders.setdefault(_folder(chain.use.target), []).append(chain)
    return list(folders.values())


def fails(target: Target) -> bool:
    """Whether a graph of it is known to fail, so that it makes no bundle and shares nothing."""
    return any(graph.expect_failure is not None for graph in target.graphs)


def _folder(target: Target) -> Hashable:
    """Targets for which this is the same ship in one folder."""
    return target.toolchain, target.chip.name, target.variant


def _together(link: Link) -> Hashable:
    """Links for which this is the same are compiled by one action."""
    graph = link.use.graph
    shared = graph.source if isinstance(link, Wrapped) else graph.name
    return _folder(link.use.target), shared


def _compiled(group: Sequence[Link], toolchain: Toolchain) -> list[Chain]:
    stems = [link.use.graph.name for link in group]
    members = [
        Member(
            graph=link.use.graph,
            stem=stem,
            prepared=link.prepared.name,
            converted=link.converted.name,
        )
        for link, stem in zip(group, stems, strict=True)
    ]
    target, chips = group[0].use.target, _chips(group)
    name = _name(group, chips)
    if isinstance(group[0], Wrapped):
        action = wrapped_context(target, members, toolchain, name=name)
    else:
        action = context(target, members, chips, toolchain, name=name)
    together = tuple(link.converted.name for link in group)
    return [
        Chain(
            use=link.use,
            prepared=link.prepared,
            converted=link.converted,
            compiled=action,
            stem=stem,
            together=together,
        )
        for link, stem in zip(group, stems, strict=True)
    ]


def _chips(group: Sequence[Link]) -> tuple[Chip, ...]:
    return tuple({link.use.target.chip.name: link.use.target.chip for link in group}.values())


def _name(group: Sequence[Link], chips: Sequence[Chip]) -> str:
    first = group[0].use
    graphs = "+".join(dict.fromkeys(link.use.graph.name for link in group))
    variants = "+".join(dict.fromkeys(link.use.target.variant for link in group))
    parts = (first.target.model, graphs, variants)
    return f"context/{'/'.join(p for p in parts if p)}@{'+'.join(chip.name for chip in chips)}"
