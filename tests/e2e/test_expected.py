"""Known failures with the real compiler: what is late, and what works again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.model.recipe import ContextOptions
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.work.expected_ort import expected
from qnnbuild.work.run import WorkError
from tests.e2e.verifying import CHIPS, Built, built, in_own_folder, normal
from tests.models import tiny_conv

PICTURE = {"x": (1, 3, 16, 16)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built(tiny_conv(), normal(PICTURE), tmp_path_factory.mktemp("made"))


def tried(made: Built, folder: Path, deadline_s: float) -> dict[str, Any]:
    chip = CHIPS[made.chip]
    compiled = OrtQnn().context(made.graph, chip, ContextOptions())
    params = {
        "context": compiled.params,
        "verify": OrtQnn().verify(made.graph, chip, made.graph.name).params,
        "metrics": {},
        "verdict": {
            "graph": "net",
            "chip": made.chip,
            "debug": "verify/m/net",
            "bars": {"min_sqnr_db": 20.0},
            "metrics": {},
        },
        "reason": "it takes too long",
        "issue": None,
        "deadline_s": deadline_s,
    }
    inputs = {name: made.out("prepare", name) for name in ("model", "names")}
    inputs |= {"samples": made.folder / "samples", "reference": made.out("reference", "reference")}
    in_own_folder(expected, folder, params=params, inputs=inputs, outputs=("failure",))
    found: dict[str, Any] = json.loads((folder / "out/failure/failure.json").read_text())
    return found


# the first alarm may come beside a fork, where Python drops what is raised; the next one does not
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_compile_that_is_late_is_a_known_failure(made: Built, tmp_path: Path) -> None:
    found = tried(made, tmp_path, 0.02)

    assert (found["step"], found["message"]) == (
        "context",
        "it took longer than its deadline of 0.02 s",
    )


def test_with_more_time_it_works_and_that_is_an_error(made: Built, tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="'net' is known to fail, and works now"):
        tried(made, tmp_path, 300.0)
