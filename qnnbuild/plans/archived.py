"""Archives of a model's bundles, and the bundles of its libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.recipe import ArchiveName, Target
from qnnbuild.plans.archives import archive_name
from qnnbuild.plans.contexts import Chain, fails
from qnnbuild.plans.names import source_of
from qnnbuild.steps.archive import archive
from qnnbuild.steps.library_bundle import LibraryPart, library_bundle
from qnnbuild.steps.runtime import RUNTIME, runtime
from qnnbuild.toolchains.work import Toolchain

TAKEN_ANYWAY = 1
"""The library that a context is compiled from."""

Made = tuple[tuple[str, tuple[str, ...]], ...]
"""Which actions make the libraries of each graph."""


@dataclass
class Archived:
    """One name, one archive. What differs beyond the names that a recipe gives has ~CHIP behind."""

    toolchains: Mapping[str, Toolchain]
    taken: set[str] = field(default_factory=set)

    def contexts(
        self, targets: Sequence[Target], bundle: Action, chips: str = ""
    ) -> Iterator[Action]:
        """The bundle for chips as a single file, where the recipe wants that."""
        first = targets[0]
        if said := first.bundle.context_archive:
            chip = chips or first.chip.name
            yield archive(targets, bundle, self._free(said, first, chip=chip), chip=chip)

    def libraries(
        self, chains: Sequence[Chain], license_of: Callable[[Target], OutputOf | None]
    ) -> Iterator[Action]:
        """A bundle where there are libraries that no context takes, or an archive is wanted."""
        had: set[str] = set()  # variants
        for ours in _by_libraries(chains):
            targets = list({id(c.use.target): c.use.target for c in ours}.values())
            first = targets[0]
            parts = _parts(ours, self.toolchains[first.toolchain])
            said = first.bundle.library_archive
            systems = dict.fromkeys(system for part in parts for system in part.systems)
            if said is None and len(systems) <= TAKEN_ANYWAY:
                continue
            behind = f"~{first.chip.name}" if first.variant in had else ""
            had.add(first.variant)
            new, runs_with = self.runtimes(targets, prepares=True)
            yield from new
            made = library_bundle(
                targets,
                parts,
                license_text=license_of(first),
                runs_with=runs_with,
                behind=behind,
            )
            yield made
            if said is not None:
                for system in systems:
                    name = self._free(said, first, system=system)
                    yield archive(targets, made, name, system=system)

    def runtimes(
        self, targets: Sequence[Target], *, prepares: bool
    ) -> tuple[list[Action], list[OutputOf]]:
        """What brings libraries of the SDK that run a bundle: what is new of it, and all."""
        first = targets[0]
        archs = [target.chip.arch for target in targets]
        made = [
            runtime(first, system, archs, prepares=prepares)
            for system in first.bundle.sdk_libraries
        ]
        new = [action for action in made if action.name not in self.taken]
        self.taken.update(action.name for action in new)
        return new, [OutputOf(action=action.name, output=RUNTIME) for action in made]

    def _free(self, said: ArchiveName, target: Target, *, chip: str = "", system: str = "") -> str:
        name = archive_name(said, chip=chip, system=system)
        if name.casefold() in self.taken:
            name = f"{name}~{target.chip.name}"
        self.taken.add(name.casefold())
        return name


def _by_libraries(chains: Sequence[Chain]) -> list[list[Chain]]:
    """Chains of targets that have all of their libraries in common, variant by variant."""
    of_target: dict[int, list[Chain]] = {}
    for chain in chains:
        if chain.libraries and not fails(chain.use.target):
            of_target.setdefault(id(chain.use.target), []).append(chain)
    found: dict[tuple[str, str, Made], list[Chain]] = {}
    for ours in of_target.values():
        target = ours[0].use.target
        key = (target.toolchain, target.variant, _made(ours))
        found.setdefault(key, []).extend(ours)
    return list(found.values())


def _made(chains: Sequence[Chain]) -> Made:
    return tuple((c.use.graph.name, tuple(a.name for a in c.libraries)) for c in chains)


def _parts(chains: Sequence[Chain], toolchain: Toolchain) -> list[LibraryPart]:
    """Those of the first target; the others have the same."""
    first = chains[0].use.target
    return [
        LibraryPart(
            graph=chain.use.graph,
            prepared=chain.prepared.name,
            source=source_of(chain.prepared),
            converted=chain.converted.name,
            own_libraries=_own_libraries(chain, chains),
            systems=_systems(chain, toolchain),
        )
        for chain in chains
        if chain.use.target is first
    ]


def _own_libraries(chain: Chain, chains: Sequence[Chain]) -> dict[str, OutputOf]:
    """Those of every chip: what is built for the device differs by its HTP generation."""
    graph = chain.use.graph.name
    alike = [one.own_libraries for one in chains if one.use.graph.name == graph]
    ready = chain.own_libraries.get("")
    found = dict.fromkeys(one for libraries in alike for one in libraries.values())
    built = (one for one in found if one != ready)
    return ({"": ready} if ready else {}) | {f"-{n}": one for n, one in enumerate(built)}


def _systems(chain: Chain, toolchain: Toolchain) -> dict[str, str]:
    """System → the action that makes the library for it."""
    systems = toolchain.libraries(chain.use.graph)
    return dict(zip(systems, (action.name for action in chain.libraries), strict=True))
