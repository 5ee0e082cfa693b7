"""convert with `precision: auto`: the model of the last try, which holds the bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qnnbuild.work.run import Run


def taken(run: Run) -> None:
    """Inputs "model" and "quantization" of the last try → the same outputs."""
    for name in ("model", "quantization"):
        for path in sorted(run.inputs[name].iterdir()):
            path.rename(run.outputs[name] / path.name)
