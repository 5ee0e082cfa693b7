"""Which graphs are compiled together, and which targets therefore ship in one folder."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import Chip, Target
from qnnbuild.plans.names import Use
from qnnbuild.steps.context import Member, context
from qnnbuild.steps.wrap import wrapped_context
from qnnbuild.toolchains.work import Toolchain

LONGEST = 60
"""Characters of an action's name that tell its graphs, or its variants."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """One graph of one target, and what prepared and converted it."""

    use: Use
    prepared: Action
    converted: Action
    packages: Action | None = None  # of operators of the user's own
    libraries: tuple[Action, ...] = ()  # of toolchains that compile code; context takes the first
    unquantized: Action | None = None  # what `converted` quantizes, where that is two actions
    lowered: Action | None = None  # what context takes in the place of `converted`
    on_device: tuple[Action, ...] = ()  # what builds the own operators' libraries that ship

    @property
    def own_libraries(self) -> dict[str, OutputOf]:
        """The libraries of the user's own operators that a device needs: end of a name → output.

        Those that are built are no output of the action that checks those that lie ready.
        """
        ready = {}
        if self.packages is not None and "device" in self.packages.outputs:
            ready[""] = OutputOf(action=self.packages.name, output="device")
        built = enumerate(self.on_device)
        return ready | {f"-{n}": OutputOf(action=one.name, output="library") for n, one in built}


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
    group: tuple[str, ...]  # the actions that converted all that is in its binary, in order

    @property
    def is_run_alone(self) -> bool:
        """Whether the host cannot run what ships, and runs each graph as compiled alone."""
        return "alone" in self.compiled.outputs

    @property
    def kin(self) -> tuple[tuple[str, ...], str, int]:
        """Chips of one HTP generation that get the same binary stand for one another."""
        return self.group, self.stem, self.use.target.chip.arch


def chains_of(links: Sequence[Link], toolchains: Mapping[str, Toolchain]) -> list[Chain]:
    """`links` with the actions that compile them, in the same order: one for each group."""
    groups: dict[Hashable, list[Link]] = {}
    for link in links:
        groups.setdefault(together(link.use), []).append(link)
    found: dict[int, Chain] = {}
    for group in groups.values():
        toolchain = toolchains[group[0].use.target.toolchain]
        found |= zip(map(id, group), _compiled(group, toolchain), strict=True)
    return [found[id(link)] for link in links]


def shipped_together(chains: Sequence[Chain]) -> list[list[Chain]]:
    """`chains` by the folder that they ship in: what may have a binary in common has one folder."""
    folders: dict[Hashable, list[Chain]] = {}
    for chain in chains:
        folders.setdefault(folder_of(chain.use.target), []).append(chain)
    return list(folders.values())


def fails(target: Target) -> bool:
    """Whether a graph of it is known to fail, so that it makes no bundle and shares nothing."""
    return any(graph.expect_failure is not None for graph in target.graphs)


def shares(target: Target) -> tuple[str, ...]:
    """What is known to fail is compiled alone, so that it fails alone."""
    return () if fails(target) else target.context.share_weights


def folder_of(target: Target) -> Hashable:
    """Targets for which this is the same ship in one folder."""
    variant = None if "variants" in shares(target) else target.variant
    return target.toolchain, target.chip.name, variant, shares(target)


def together(use: Use) -> Hashable:
    """Uses for which this is the same are compiled by one action."""
    graph = use.graph
    if graph.wrapped or graph.genie:
        return folder_of(use.target), graph.source
    return folder_of(use.target), None if "graphs" in shares(use.target) else graph.name


def stems_of(uses: Sequence[Use]) -> list[str]:
    """What files of each are called, which lie in one folder."""
    if len({use.target.variant for use in uses}) == 1:
        return [use.graph.name for use in uses]
    return [f"{use.graph.name}-{use.target.variant}" for use in uses]


def _compiled(group: Sequence[Link], toolchain: Toolchain) -> list[Chain]:
    stems = stems_of([link.use for link in group])
    members = [
        Member(
            graph=link.use.graph,
            stem=stem,
            prepared=link.prepared.name,
            converted=(link.lowered or link.converted).name,
            packages=link.packages.name if link.packages else None,
            library=link.libraries[0].name if link.libraries else None,
        )
        for link, stem in zip(group, stems, strict=True)
    ]
    target, chips = group[0].use.target, _chips(group)
    name = _name(group, chips)
    if isinstance(group[0], Wrapped):
        action = wrapped_context(target, members, toolchain, name=name)
    else:
        action = context(target, members, chips, toolchain, name=name)
    converted = tuple(link.converted.name for link in group)
    return [
        Chain(
            use=link.use,
            prepared=link.prepared,
            converted=link.converted,
            packages=link.packages,
            libraries=link.libraries,
            unquantized=link.unquantized,
            lowered=link.lowered,
            on_device=link.on_device,
            compiled=action,
            stem=stem,
            group=converted,
        )
        for link, stem in zip(group, stems, strict=True)
    ]


def _chips(group: Sequence[Link]) -> tuple[Chip, ...]:
    return tuple({link.use.target.chip.name: link.use.target.chip for link in group}.values())


def _name(group: Sequence[Link], chips: Sequence[Chip]) -> str:
    first = group[0].use
    graphs = _joined(link.use.graph.name for link in group)
    variants = _joined(link.use.target.variant for link in group)
    parts = (first.target.model, graphs, variants)
    return f"context/{'/'.join(p for p in parts if p)}@{'+'.join(chip.name for chip in chips)}"


def _joined(names: Iterable[str]) -> str:
    """No longer than one can read; a group is the only one of its first member."""
    several = list(dict.fromkeys(names))
    text = "+".join(several)
    return text if len(text) <= LONGEST else f"{several[0]}+{len(several) - 1}-more"
