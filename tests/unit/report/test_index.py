"""What build/index.json says of graphs that are known to fail."""

from __future__ import annotations

from qnnbuild.report.index import expected_failures, index, with_kept
from tests.reported import FLOATS, VAD, targets_of

KNOWN = {
    "model": "floats",
    "variant": "",
    "graph": "two",
    "chip": "SM8450",
    "reason": "values beyond fp16",
    "issue": "owner/repo#7",
}


def test_known_failures_are_listed() -> None:
    failures = expected_failures(targets_of(VAD, FLOATS))

    assert failures == [KNOWN]
    assert index({}, failures)["expected_failures"] == [KNOWN]


def test_known_failures_of_models_that_were_not_looked_at_stay() -> None:
    before = index({}, [KNOWN])

    assert with_kept(index({}), before, {"floats"})["expected_failures"] == [KNOWN]
    assert with_kept(index({}), before, {"other"})["expected_failures"] == []


def test_an_index_from_before_there_was_a_list_is_taken_over() -> None:
    before = {name: told for name, told in index({}).items() if name != "expected_failures"}

    assert with_kept(index({}, [KNOWN]), before, {"vad"})["expected_failures"] == [KNOWN]
