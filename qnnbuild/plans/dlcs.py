"""DLCs of one use, where its toolchain makes such: before convert, or behind it."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, Input
from qnnbuild.plans.names import Names, Use
from qnnbuild.steps.dlc import lowered, unquantized
from qnnbuild.toolchains.work import Toolchain


def floats_of(
    names: Names,
    use: Use,
    toolchain: Toolchain,
    prepared: Action,
    own: Mapping[str, Input],
) -> Action | None:
    """What convert quantizes. `own`: what the converter is told of operators of the user's own."""
    work = toolchain.unquantized(use.graph)
    if work is None:
        return None
    return names.shared(
        f"dlc/{use.base}",
        use,
        lambda name: unquantized(
            use.target, use.graph, work, prepared=prepared.name, own=own, name=name
        ),
    )


def lowered_of(names: Names, use: Use, toolchain: Toolchain, converted: Action) -> Action | None:
    """What context takes in the place of what was converted."""
    work = toolchain.lowered(use.graph)
    if work is None:
        return None
    return names.shared(
        f"dlc/{use.base}+{use.graph.precision}",
        use,
        lambda name: lowered(use.target, use.graph, work, converted=converted.name, name=name),
    )
