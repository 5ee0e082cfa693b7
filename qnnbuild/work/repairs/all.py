"""All repairs, one file each. A new one: its file, its line here, its line in the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from qnnbuild.errors import did_you_mean
from qnnbuild.work.borders import drop_unneeded
from qnnbuild.work.names import name_nodes
from qnnbuild.work.repairs import (
    clip_bounds,
    default_activations,
    gather_nd,
    gelu,
    hard_swish,
    two_pass_variance,
)
from qnnbuild.work.repairs.editing import Repair
from qnnbuild.work.run import Run, WorkError

REPAIRS: tuple[Repair, ...] = (
    clip_bounds.REPAIR,
    default_activations.REPAIR,
    gather_nd.REPAIR,
    gelu.REPAIR,
    hard_swish.REPAIR,
    two_pass_variance.REPAIR,
)


def repair(run: Run, model: ModelProto, wanted: Sequence[str]) -> dict[str, list[str]]:
    """Apply the named repairs in the recipe's order. Returns each one's nodes; none is told."""
    by_name = {one.name: one for one in REPAIRS}
    done: dict[str, list[str]] = {}
    for name in wanted:
        if name not in by_name:
            raise WorkError(
                f"no repair is named '{name}'",
                place="repairs",
                hint=did_you_mean(name, by_name, otherwise=f"all repairs: {', '.join(by_name)}"),
                exit_code=2,
            )
        done[name] = by_name[name].apply(model)
        if not done[name]:
            run.warn(f"the repair '{name}' found nothing to repair", place="repairs")
        drop_unneeded(model)
        name_nodes(model)
    return done
