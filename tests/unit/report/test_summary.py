"""What a report says before anyone clicks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qnnbuild.report.summary import Summary, summary
from tests.reported import AUTO, FAILED, FLOATS, VAD, Told, failed


def told(*recipes: str, fails: tuple[str, ...] = ()) -> Summary:
    found = Told.of(*recipes)
    for name in fails:
        chip = name.rpartition("@")[2]
        found.be(name, failed(replace(FAILED, message=f"'near' on {chip} is below its bar")))
    return summary(found.json())


def test_cells_are_counted_by_state() -> None:
    assert told(VAD, FLOATS, fails=("context/vad/near/w8a8@SM8750",)).states == {
        "built": 7, "failed": 1, "known": 1, "stale": 0, "impossible": 1,
    }  # fmt: skip


def test_the_same_failure_on_several_chips_is_told_once() -> None:
    names = ("verdict/vad/near/w8a8@SM8550", "verdict/vad/near/w8a8@SM8750")
    (found,) = told(VAD, fails=names).failed

    assert found.actions == names
    assert found.cells == ("vad/w8a8@SM8550", "vad/w8a8@SM8750")


def test_a_failure_shows_the_last_word_of_its_tool() -> None:
    def said(**changed: Any) -> str | None:
        failure = replace(FAILED, **changed)
        told = Told.of(VAD).be("context/vad/near/w8a8@SM8750", failed(failure))
        return summary(told.json()).failed[0].said

    assert said() == "error: no such operator"
    assert said(facts=(("says", "one"), ("says", "two"), ("where", "x"))) == "two"
    assert said(last_lines=()) is None


def test_a_line_of_a_row_has_its_numbers_from_the_least_to_the_most() -> None:
    (line,) = told(AUTO).models

    assert (line.name, line.variant, line.precisions) == ("found", "", ("w8a8 + 1 in 16 bit",))
    assert (line.states, line.sqnr, line.sizes) == ({"built": 1}, (31.5, 31.5), (1000, 1000))


def test_work_on_the_cpu_is_told_once_for_chips_that_share_it() -> None:
    one, two = told(FLOATS).on_cpu

    assert (one.graph, one.chips, one.share) == ("floats/one", ("SM8550", "SM8750"), 0.125)
    assert one.nodes == ({"node": "ceil", "operator": "Ceil", "reason": "no kernel, traced"},)
    assert two.graph == "floats/two"
