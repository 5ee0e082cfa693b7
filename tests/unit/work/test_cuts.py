"""Where a graph is cut before what the NPU does not have."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

from qnnbuild.work.cuts import hint, outputs_before


def model(*nodes: tuple[str, str, str], outputs: str) -> ModelProto:
    """Each node: its name, what it reads and what it makes, both with spaces between."""
    made = [
        helper.make_node("Op", reads.split(), makes.split(), name=name)
        for name, reads, makes in nodes
    ]
    given, kept = (
        [helper.make_tensor_value_info(one, TensorProto.FLOAT, [1]) for one in names.split()]
        for names in ("x", outputs)
    )
    return helper.make_model(helper.make_graph(made, "g", given, kept))


@pytest.mark.parametrize(
    ("bad", "outputs", "kept"),
    [
        ("nms", "y", ["boxes", "scores"]),
        ("nms", "y scores", ["scores", "boxes"]),
        ("last", "y", ["picked", "boxes"]),
        ("first", "y", ["scores"]),
    ],
)
def test_what_is_kept_is_all_that_the_rest_reads(bad: str, outputs: str, kept: list[str]) -> None:
    detector = model(
        ("first", "x", "boxes"),
        ("second", "x w", "scores"),
        ("nms", "boxes scores", "picked"),
        ("last", "picked boxes", "y"),
        outputs=outputs,
    )

    assert outputs_before(detector, [bad]) == kept


def test_what_branches_read_from_outside_is_kept_too() -> None:
    made = model(("body", "x", "feat"), ("head", "feat", "cond"), outputs="y")
    branch = helper.make_graph([helper.make_node("Op", ["feat"], ["out"])], "b", [], [])
    made.graph.node.append(helper.make_node("If", ["cond"], ["y"], name="if", then_branch=branch))

    assert outputs_before(made, ["if"]) == ["cond", "feat"]


def test_where_nothing_stands_before_it_nothing_can_be_kept() -> None:
    assert outputs_before(model(("all", "x", "a"), ("y", "a", "y"), outputs="y"), ["all"]) == []


def test_the_hint_is_the_line_to_write() -> None:
    assert hint(["/head/a", "b c"]) == 'outputs: [/head/a, "b c"] cuts the graph before it'


@pytest.mark.parametrize("names", [[], ["of a rewrite"], [f"t{n}" for n in range(9)]])
def test_what_cannot_be_written_is_told_in_words(names: list[str]) -> None:
    assert hint(names, ["a", *(f"t{n}" for n in range(9))]).startswith("cut the graph before it ")
