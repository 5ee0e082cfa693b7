"""What the atlas saw refused, by generation."""

from __future__ import annotations

from qnnbuild.work.refusals import Refusal, Refusals, refusals

SOME = Refusals(
    archs=(68, 73, 79),
    rows={
        "Old": {"f32": Refusal(archs=(68,), why="not before v73")},
        "Never": {"f32": Refusal(archs=(68, 73, 79), why="never")},
        "New": {"f32": Refusal(archs=(79,), why="no more")},
    },
)


def test_a_refusal_counts_where_one_of_the_generations_refuses():
    assert SOME.of("Old", "f32", [68, 79]) is not None
    assert SOME.of("Old", "f32", [73, 79]) is None
    assert SOME.of("Old", "a8", [68]) is None


def test_the_first_generation_that_takes_it_is_told():
    told = [SOME.first_that_takes(name, "f32") for name in ("Old", "Never", "New", "Other")]

    assert told == [73, None, None, None]


def test_every_refusal_has_a_reason_and_generations_that_were_tried():
    known = refusals()
    rows = [row for forms in known.rows.values() for row in forms.values()]

    assert len(rows) > 30
    assert all(row.why and set(row.archs) <= set(known.archs) for row in rows)
