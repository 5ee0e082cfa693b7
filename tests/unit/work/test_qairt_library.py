"""What is told before a library is linked."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.qairt_library import MOST_WEIGHTS, _check_weights
from qnnbuild.work.run import WorkError


def test_weights_that_no_linker_reaches_are_told_before_it_runs(tmp_path: Path) -> None:
    weights = tmp_path / "model.bin"
    with weights.open("wb") as file:
        file.truncate(MOST_WEIGHTS + (1 << 29))  # a hole: no room is taken

    with pytest.raises(WorkError, match=r"the weights have 2\.5 GiB; a library for x86 holds 2"):
        _check_weights(weights, "x86")
    _check_weights(tmp_path / "none.bin", "x86")
