"""context: converted graphs compiled for a chip, read back. Here the chip enters, no earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qnnbuild.actions.action import Action, Input, OutputOf
from qnnbuild.errors import Span
from qnnbuild.model.recipe import Chip, Graph, Target
from qnnbuild.steps.doing import doing
from qnnbuild.toolchains.work import Toolchain, Work


@dataclass(frozen=True, kw_only=True)
class Member:
    """One graph of a context: names of its actions, and what its files in the outputs are called.

    Its ctx.onnx is `<stem>_ctx.onnx` in "context", what was read back of it `<stem>.json` in
    "facts".
    """

    graph: Graph
    stem: str
    prepared: str
    converted: str
    packages: str | None = None
    library: str | None = None  # of toolchains that compile code: what is taken instead of "model"


@dataclass(frozen=True, kw_only=True)
class Single:
    """One chip of several: the graph as it is for that chip, and what compiled it for it alone."""

    graph: Graph
    chip: Chip
    compiled: str


def context(
    target: Target,
    members: Sequence[Member],
    chips: Sequence[Chip],
    toolchain: Toolchain,
    *,
    name: str,
) -> Action:
    """One action for all of `members`, which `target` has or shares its binary with."""
    work = _work(target, members, chips, toolchain)
    graphs = list(dict.fromkeys(member.graph.name for member in members))
    return doing(
        work,
        target,
        members[0].graph,
        name=name,
        step="context",
        inputs=_inputs(members, names=work.takes_names),
        # what shares weights is compiled alone, too, and that is the measure of what it saves
        deadline_s=sum(m.graph.deadline_s for m in members) * (1 if len(members) == 1 else 2),
        places=_places(members),
        about=f"{', '.join(graphs)} for {', '.join(chip.name for chip in chips)}",
    )


def context_for_chips(
    target: Target,
    member: Member,
    singles: Sequence[Single],
    toolchain: Toolchain,
    *,
    name: str,
) -> Action:
    """One binary for all chips of `singles`, in this order, with the weights of the first."""
    chips = [single.chip for single in singles]
    work = toolchain.multi([single.graph for single in singles], chips, target.context)
    sizes: dict[str, Input] = {
        f"facts-{single.chip.name}": OutputOf(action=single.compiled, output="facts")
        for single in singles
    }
    return doing(
        work,
        target,
        member.graph,
        name=name,
        step="context",
        inputs=_inputs([member]) | sizes,
        deadline_s=member.graph.deadline_s * len(singles),
        places={**member.graph.places, **_under(target, "context")},
        about=f"{member.graph.name} for {', '.join(chip.name for chip in chips)}",
    )


def _under(target: Target, key: str) -> dict[str, Span]:
    return {at: span for at, span in target.places.items() if at.partition(".")[0] == key}


def _work(
    target: Target, members: Sequence[Member], chips: Sequence[Chip], toolchain: Toolchain
) -> Work:
    """What the toolchain is asked depends on how many graphs and chips share the binary."""
    (chip,) = chips
    if len(members) == 1:
        return toolchain.context(members[0].graph, chip, target.context)
    return toolchain.shared({m.stem: m.graph for m in members}, chip, target.context)


def _inputs(members: Sequence[Member], *, names: bool = True) -> dict[str, Input]:
    """ "model" and "names" (the user's words for nodes); of several, each with its stem."""
    inputs: dict[str, Input] = {}
    for member in members:
        behind = "" if len(members) == 1 else f"-{member.stem}"
        if member.library is not None:
            inputs[f"library{behind}"] = OutputOf(action=member.library, output="library")
        else:
            inputs[f"model{behind}"] = OutputOf(action=member.converted, output="model")
            if names:
                inputs[f"names{behind}"] = OutputOf(action=member.prepared, output="names")
        if member.packages is not None:
            inputs[f"packages{behind}"] = OutputOf(action=member.packages, output="here")
    return inputs


def _places(members: Sequence[Member]) -> dict[str, Span]:
    """The first member's; of several, each one's too behind its stem."""
    places = dict(members[0].graph.places)
    if len(members) > 1:
        for member in members:
            places |= {f"{member.stem}:{at}": span for at, span in member.graph.places.items()}
    return places
