"""What is wrong with targets that share weights, before anything is planned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Target
from qnnbuild.plans.contexts import fails, folder_of, shares, stems_of, together
from qnnbuild.plans.names import Use
from qnnbuild.steps.bundle import lands
from qnnbuild.toolchains.work import Toolchain

PLACE = "context.share_weights"
OFF = "context: {share_weights: false}"


def sharing_problems(
    targets: Sequence[Target], toolchains: Mapping[str, Toolchain]
) -> Iterator[Problem]:
    """`targets` are all of one model; nothing where none of them shares."""
    sharing = [target for target in targets if shares(target)]
    if not sharing:
        return
    yield from _nothing_to_share(targets)
    for target in sharing:
        if target.context.embed:
            yield _problem(
                target,
                "a binary that graphs share cannot be inside their ctx.onnx files",
                "embed: false",
                at="context.embed",
            )
    yield from _of_groups(sharing, toolchains)
    yield from _of_folders(sharing, [target for target in targets if not fails(target)])


def _nothing_to_share(targets: Sequence[Target]) -> Iterator[Problem]:
    """Of the recipe as a whole: for one chip, known failures may leave too little to share."""
    asked = next(target for target in targets if shares(target))
    several = {
        "graphs": any(len(target.graphs) > 1 for target in targets),
        "variants": len({target.variant for target in targets}) > 1,
    }
    wanted = shares(asked)
    if not any(several[what] for what in wanted):
        said = " and ".join(f"one {what.removesuffix('s')}" for what in wanted)
        if wanted == ("variants",):
            said = "no variants"
        yield _problem(asked, f"there is nothing to share weights: {asked.model} has {said}", OFF)


def _of_groups(targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> Iterator[Problem]:
    groups: defaultdict[Hashable, list[Use]] = defaultdict(list)
    for target in targets:
        for graph in target.graphs:
            groups[together(Use(target, graph))].append(Use(target, graph))
    for uses in groups.values():
        if len(uses) > 1 and uses[0].target.toolchain in toolchains:
            toolchain = toolchains[uses[0].target.toolchain]
            yield from toolchain.sharing_problems([use.graph for use in uses])


def _of_folders(sharing: Sequence[Target], shipped: Sequence[Target]) -> Iterator[Problem]:
    """Names in a folder and of folders; one folder has one licence."""
    folders: defaultdict[Hashable, list[Target]] = defaultdict(list)
    for target in shipped:
        folders[folder_of(target)].append(target)
    taken: dict[str, Target] = {}
    for targets in folders.values():
        first = targets[0]
        other = taken.setdefault(lands(targets), first)
        if other is not first:
            yield _problem(
                first if first in sharing else other,
                f"two groups of variants would ship in {lands(targets)}",
                "one share_weights for all variants",
            )
        uses = [Use(target, graph) for target in targets for graph in target.graphs]
        stems = stems_of(uses)
        twice = next((stem for stem in stems if stems.count(stem) > 1), None)
        if twice is not None:
            yield _problem(
                first, f"two graphs would have the file '{twice}_ctx.onnx'", "rename one"
            )
        if any(target.license != first.license for target in targets):
            yield _problem(first, "what ships in one folder has one licence", OFF, at="license")


def _problem(target: Target, message: str, hint: str, at: str = PLACE) -> Problem:
    where = target.places.get(at) or target.places.get(PLACE) or target.places.get("context")
    return Problem(message=message, at=where, hint=hint)
