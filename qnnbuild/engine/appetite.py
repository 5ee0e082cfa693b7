"""How much memory an action will want: what its last run took, else what others like it took.

A record knows the resident memory of the largest process of its run (`Record.peak_bytes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from qnnbuild.actions.action import Action
from qnnbuild.engine.records import Records

MB = 1_000_000
BASE_BYTES = 200 * MB
"""What a step on a model of nearly no size takes, most of it Python with what it imports: 110 to
150 MB were measured (fetch, prepare, convert, context, bundle)."""

BYTES_PER_INPUT_BYTE: Mapping[str, float] = MappingProxyType(
    {
        "fetch": 0.0,  # it streams
        "archive": 0.0,
        "bundle": 0.0,
        "prepare": 9.0,  # 8.6 on 200 MB, 8.7 on 453 MB
        "convert": 3.0,  # 2.7 on 2.4 GB
        "context": 7.0,  # 5.8 on 604 MB, and a tenth since memory that is freed is kept
    }
)
"""By step, on top of the base; bench/big_model.py measured (docs/precisions.md)."""

IN_PARTS = 1_800_000_000
"""Bytes of a model above which prepare leaves weights in their files (`work/model_bytes.py`).

Inputs of more may have a smaller model and samples."""

PREPARE_IN_PARTS = 2.0
"""In place of the above: 1.4 were measured on 2.4 GB."""

OTHER_STEPS = 3.0
MARGIN = 1.1
"""Two runs of one action differ by a few percent."""

QUANTILE = 0.9
"""Of what the same step took before: few are larger, and one giant does not stand for all."""


class Appetite:
    """Asks the records as late as it can, each step once. Safe between threads."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._of_step: dict[str, int] = {}

    def bytes_of(self, action: Action, input_bytes: int = 0) -> int:
        """Resident memory at its highest, in bytes; `input_bytes` is the size of all its inputs."""
        own = self.records.peak(action.name)
        if own:
            return int(own * MARGIN)
        factor = BYTES_PER_INPUT_BYTE.get(action.step, OTHER_STEPS)
        by_size = int(factor * input_bytes)
        if action.step == "prepare" and input_bytes > IN_PARTS and not action.params.get("cast"):
            by_size = max(int(PREPARE_IN_PARTS * input_bytes), int(factor * IN_PARTS))
        others = self._step(action)
        return max(others, by_size) if others else BASE_BYTES + by_size

    def _step(self, action: Action) -> int:
        """What most actions of the same step took; 0 when none has run."""
        first = action.name.partition("/")[0]
        found = self._of_step.get(first)
        if found is None:
            peaks = sorted(peak for peak in self.records.peaks(f"{first}/") if peak)
            found = int(peaks[int(QUANTILE * (len(peaks) - 1))] * MARGIN) if peaks else 0
            self._of_step[first] = found
        return found
