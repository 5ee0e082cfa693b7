"""What the HTP computes wrongly in float is found before it is compiled."""

from __future__ import annotations

import pytest
from onnx import ModelProto

from qnnbuild.work.repairs.all import repair
from qnnbuild.work.run import Run
from qnnbuild.work.wrong_numbers import warn_of_wrong_numbers, wrong_numbers
from tests.graphs import inferred
from tests.repairable import BROKEN, UNTOUCHED

WRITTEN_OUT = "hard-swish/input first"
LOOKS_ALIKE = "hard-swish/another alpha"


@pytest.fixture
def run() -> Run:
    return Run(params={}, inputs={}, outputs={})


def made(case: str, opset: int | None = None) -> ModelProto:
    model = inferred({**BROKEN, **UNTOUCHED}[case]())
    if opset is not None:
        model.opset_import[0].version = opset
    return model


def test_a_hard_swish_that_is_written_out_is_a_warning_with_the_repair(run: Run):
    model = made(WRITTEN_OUT)
    model.graph.node[0].name = "act"

    warn_of_wrong_numbers(run, model)

    (notice,) = run.warnings
    assert notice.place == "repairs"
    assert notice.message == (
        "node 'act': HardSigmoid (1/6, 1/2) times its own input compiles, and the HTP computes it "
        "wrongly in float: repairs: [hard-swish]"
    )


def test_an_opset_without_hard_swish_is_told_first():
    (one,) = wrong_numbers(made(WRITTEN_OUT, opset=13))

    assert one.mend == "an export with opset 14 or newer, then repairs: [hard-swish]"


def test_what_only_looks_alike_and_what_is_repaired_are_well(run: Run):
    repaired = made(WRITTEN_OUT)
    repair(run, repaired, ["hard-swish"])

    assert list(wrong_numbers(made(LOOKS_ALIKE))) == []
    assert list(wrong_numbers(repaired)) == []
