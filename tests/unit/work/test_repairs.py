"""Each repair: what it finds, what it leaves alone, and the same answers on the CPU."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto

from qnnbuild.work.repairs.all import REPAIRS, repair
from qnnbuild.work.repairs.catalogue import REPAIRS as NAMES
from qnnbuild.work.run import Run, WorkError
from tests.graphs import inferred, text
from tests.repairable import BROKEN, MENDED, UNTOUCHED


def run() -> Run:
    return Run(params={}, inputs={}, outputs={})


def kind(case: str) -> str:
    return case.partition("/")[0]


def answers(made: ModelProto) -> list[np.ndarray]:
    session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(3)
    sample = {v.name: random.standard_normal(v.shape, np.float32) for v in session.get_inputs()}
    return [np.asarray(answer) for answer in session.run(None, sample)]


def test_the_catalogue_lists_every_repair() -> None:
    assert list(NAMES) == [one.name for one in REPAIRS]


@pytest.mark.parametrize("case", BROKEN)
def test_a_repair_rewrites_what_it_is_for(case: str) -> None:
    made = inferred(BROKEN[case]())
    repair(run(), made, [kind(case)])

    assert text(made) == MENDED[case]


@pytest.mark.parametrize("case", BROKEN)
def test_a_repaired_graph_answers_the_same(case: str) -> None:
    made = inferred(BROKEN[case]())
    before = answers(made)
    repair(run(), made, [kind(case)])

    for ours, theirs in zip(answers(made), before, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("case", UNTOUCHED)
def test_a_repair_leaves_alone_what_only_looks_alike(case: str) -> None:
    here, made = run(), inferred(UNTOUCHED[case]())
    before = text(made)
    repair(here, made, [kind(case)])

    assert text(made) == before
    assert [notice.message for notice in here.warnings] == [
        f"the repair '{kind(case)}' found nothing to repair"
    ]


def test_a_repair_with_a_typo_gets_a_suggestion() -> None:
    with pytest.raises(WorkError) as caught:
        repair(run(), inferred(BROKEN["gelu/no half"]()), ["gelo"])

    assert caught.value.message == "no repair is named 'gelo'"
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("did you mean 'gelu'?")
